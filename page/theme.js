// Light or dark: as the system has it, or as one chose.

const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
const stored = () => { try { return localStorage.getItem("xla2py-theme"); } catch { return null; } };
const paint = () => { root.dataset.theme = stored() ?? (dark.matches ? "dark" : "light"); };

dark.addEventListener("change", paint);
document.getElementById("theme").addEventListener("click", () => {
  const next = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("xla2py-theme", next); } catch { /* there is no storage */ }
  root.dataset.theme = next;
});
paint();
