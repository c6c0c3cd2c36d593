// What the page shows as the fragment of an address, which browsers do not send anywhere.

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

export const fragmentOf = async (state) => {
  const packed = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  for (let at = 0; at < packed.length; at += 0x8000) text += String.fromCharCode(...packed.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};

// The state in a fragment; null where it holds none.
export const stateOf = async (fragment) => {
  try {
    const packed = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(await through(packed, new DecompressionStream("deflate-raw"))));
    const isSide = (side) => typeof side?.target === "string" && typeof side.options === "object" && side.options;
    return typeof state?.text === "string" && state.sides?.length && state.sides.slice(0, 2).every(isSide) ? state : null;
  } catch {
    return null;
  }
};
