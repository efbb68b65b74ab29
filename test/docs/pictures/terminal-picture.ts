/** The colours of a picture of a terminal. */
export interface Palette {
  background: string;
  text: string;
  dim: string;
  red: string;
  green: string;
  yellow: string;
  magenta: string;
  cyan: string;
}

/** Palettes of the pictures in the documents: GitHub's own, so that the picture sits in the page. */
export const palettes: { readonly [name in "dark" | "light"]: Palette } = {
  dark: {
    background: "#0d1117",
    text: "#e6edf3",
    dim: "#7d8590",
    red: "#ff7b72",
    green: "#3fb950",
    yellow: "#d29922",
    magenta: "#bc8cff",
    cyan: "#39c5cf",
  },
  light: {
    background: "#f6f8fa",
    text: "#1f2328",
    dim: "#656d76",
    red: "#cf222e",
    green: "#1a7f37",
    yellow: "#9a6700",
    magenta: "#8250df",
    cyan: "#1b7c83",
  },
};

interface Style {
  colour: keyof Palette;
  bold: boolean;
}

/** Select Graphic Rendition (ECMA-48, 8.3.117). */
// deno-lint-ignore no-control-regex
const sgr = /(\u001b\[[\d;]*m)/g;
const lineHeight = 18;
const charWidth = 7.8;
const margin = 16;

/** One line of terminal output, and when it came. */
export interface TimedLine {
  text: string;
  /** Milliseconds since the beginning. */
  atMs: number;
}

/** How long the last picture stands before the first one comes again. Milliseconds. */
const restMs = 6000;

/**
 * Draws what a terminal showed, with its colours (SGR), as an SVG that moves: each line comes when it came, and the screen of
 * so many rows scrolls. Who wants no motion, or has a program that draws none, sees the end.
 */
export function movingPicture(
  lines: readonly TimedLine[],
  { palette, columns, rows }: { palette: Palette; columns: number; rows: number },
): string {
  const width = Math.ceil(columns * charWidth + 2 * margin);
  const height = rows * lineHeight + 2 * margin;
  const wholeMs = (lines.at(-1)?.atMs ?? 0) + restMs;
  const percent = (ms: number) => `${(ms / wholeMs * 100).toFixed(2)}%`;
  const scrolled = (count: number) => -Math.max(0, count - rows) * lineHeight;
  const moves = lines.flatMap(({ atMs }, index) =>
    index < rows ? [] : [`${percent(atMs)}{transform:translateY(${scrolled(index + 1)}px)}`]
  );
  const shown = lines.map(({ atMs }, index) => `@keyframes l${index}{0%{opacity:0}${percent(atMs)}{opacity:1}}`);
  const played = lines.map((_, index) => `.l${index}{animation-name:l${index}}`);
  const end = `translateY(${scrolled(lines.length)}px)`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13">`,
    `<style>#s{transform:${end}}@media (prefers-reduced-motion:no-preference){`,
    `#s,#s text{animation:${wholeMs}ms step-end infinite}#s{animation-name:s}`,
    `@keyframes s{0%{transform:none}${moves.join("")}}${shown.join("")}${played.join("")}}</style>`,
    `<clipPath id="c"><rect x="0" y="${margin}" width="${width}" height="${rows * lineHeight}"/></clipPath>`,
    `<rect width="100%" height="100%" rx="8" fill="${palette.background}"/>`,
    '<g clip-path="url(#c)"><g id="s">',
    ...lines.map(({ text }, index) =>
      `<text class="l${index}" x="${margin}" y="${margin + (index + 0.75) * lineHeight}" xml:space="preserve">${
        spans(text, palette)
      }</text>`
    ),
    "</g></g>",
    "</svg>\n",
  ].join("\n");
}

function spans(line: string, palette: Palette): string {
  let style: Style = { colour: "text", bold: false };
  let column = 0;
  return line.split(sgr).map((part) => {
    const [, codes] = /^.\[([\d;]*)m$/.exec(part.startsWith("\u001b") ? part : "") ?? [];
    if (codes !== undefined) style = codes.split(";").map(Number).reduce(applied, style);
    if (codes !== undefined || part === "") return "";
    const x = (margin + column * charWidth).toFixed(1);
    const length = [...part].length;
    column += length;
    const bold = style.bold ? ' font-weight="bold"' : "";
    const fit = `textLength="${(length * charWidth).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
    return `<tspan x="${x}" ${fit} fill="${palette[style.colour]}"${bold}>${escaped(part)}</tspan>`;
  }).join("");
}

/** The style after one SGR code (ECMA-48, 8.3.117). */
function applied(style: Style, code: number): Style {
  const colours: { readonly [code: number]: keyof Palette } = {
    2: "dim",
    31: "red",
    32: "green",
    33: "yellow",
    35: "magenta",
    36: "cyan",
    39: "text",
  };
  if (code === 0) return { colour: "text", bold: false };
  if (code === 1) return { ...style, bold: true };
  if (code === 22) return { colour: style.colour === "dim" ? "text" : style.colour, bold: false };
  return { ...style, colour: colours[code] ?? style.colour };
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
