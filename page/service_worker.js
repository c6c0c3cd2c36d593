// The page without a network: its own files are asked for first and kept, Pyodide's are those that the worker kept.

const VERSION = new URL(location.href).searchParams.get("version");

self.addEventListener("install", (event) => {
  const keep = async () => {
    const site = await (await fetch("site.json")).json();
    await (await caches.open(VERSION)).addAll(["./", "site.json", ...site.own]);
    await self.skipWaiting();
  };
  event.waitUntil(keep());
});

self.addEventListener("activate", (event) => {
  const tidy = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith("xla2py-") && name !== VERSION);
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(tidy());
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(self.registration.scope)) return;
  const answer = async () => {
    try {
      return await fetch(event.request);
    } catch (error) {
      const kept = await (await caches.open(VERSION)).match(event.request, { ignoreSearch: true });
      if (kept) return kept;
      throw error;
    }
  };
  event.respondWith(answer());
});
