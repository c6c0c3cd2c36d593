// The tokens of a line of HLO or StableHLO, for its colours: [text, kind] or [text].

const WORDS = /(?<c>\/\/.*|\/\*.*?\*\/)|(?<m>\bmetadata=\{(?:"(?:\\.|[^"\\])*"|[^}"])*\}|\bloc\((?:"(?:\\.|[^"\\])*"|[^()"]|\([^()]*\))*\))|(?<s>"(?:\\.|[^"\\])*"?)|(?<k>\b(?:HloModule|ENTRY|ROOT|module|func\.func|return|private|public|attributes)\b)|(?<t>\b(?:pred|token|opaque|bf16|c64|c128|[suf]\d+\w*)\[[^\]]*\](?:\{[^}]*\})?|\b(?:tensor|tuple|complex)<[^<>]*(?:<[^<>]*>)?[^<>]*>)|(?<o>\b(?:stablehlo|chlo|sdy|mhlo)\.\w+|(?<=[=\]})]\s)[a-z][\w-]*(?=\())|(?<a>\b[\w-]+(?==))|(?<n>(?<![\w.%#-])-?(?:0x[\da-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|inf|nan)\b(?![.\w]))/g;
const LONGEST = 400; // characters of a line that are looked at

export const tokensOf = (line) => {
  const tokens = [];
  let at = 0;
  for (const found of line.slice(0, LONGEST).matchAll(WORDS)) {
    if (found.index > at) tokens.push([line.slice(at, found.index)]);
    const [kind] = Object.entries(found.groups).find(([, text]) => text !== undefined);
    tokens.push([found[0], kind]);
    at = found.index + found[0].length;
  }
  if (at < line.length) tokens.push([line.slice(at)]);
  return tokens;
};
