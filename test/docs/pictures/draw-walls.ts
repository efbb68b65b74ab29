import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Palette, palettes } from "./terminal-picture.ts";

/** A box of the diagram, from its left upper corner. */
interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  text?: string;
  /** Colour of the wall; a dim line for what is none. */
  wall?: keyof Palette;
}

/** So narrow that its words can be read on a phone. */
const [width, height] = [400, 436];

/** The walls from the outside in: each box stands in the one before it. */
const boxes: readonly Box[] = [
  {
    x: 12,
    y: 14,
    width: 376,
    height: 56,
    title: "You, editors, programs",
    text: "command line, console, HTTP, MCP, ACP",
  },
  { x: 12, y: 100, width: 376, height: 78, title: "Host", wall: "green" },
  { x: 28, y: 130, width: 168, height: 36, title: "Journal", text: "every event, in order" },
  { x: 208, y: 130, width: 168, height: 36, title: "Broker", text: "checks every call" },
  {
    x: 12,
    y: 222,
    width: 236,
    height: 200,
    title: "A process for each plugin",
    text: "no rights, no environment",
    wall: "red",
  },
  { x: 26, y: 268, width: 208, height: 142, title: "A thread", text: "its own heap limit", wall: "yellow" },
  { x: 40, y: 314, width: 180, height: 84, title: "A compartment", text: "fresh for each session", wall: "magenta" },
  { x: 54, y: 358, width: 152, height: 28, title: "adapter code" },
  { x: 262, y: 222, width: 126, height: 200, title: "Your machine", wall: "cyan" },
];

/** Draws the walls around adapter code, and the one way out of them. */
export function drawWalls(folder: string): void {
  for (const [name, palette] of Object.entries(palettes)) {
    writeFileSync(join(folder, `walls-${name}.svg`), diagram(palette));
  }
}

function diagram(palette: Palette): string {
  const line = (from: string, tone: keyof Palette) =>
    `<path d="${from}" fill="none" stroke="${palette[tone]}" stroke-width="1.5" marker-end="url(#${tone})"/>`;
  const heads = (["dim", "green", "red"] as const).map((tone) =>
    `<marker id="${tone}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">` +
    `<path d="M0 0L8 4L0 8z" fill="${palette[tone]}"/></marker>`
  );
  const machine = ["files", "programs", "network", "variables", "keys"].map((word, index) =>
    `<text x="276" y="${272 + index * 26}" fill="${palette.text}">${word}</text>`
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` font-family="system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif" font-size="14">`,
    `<defs>${heads.join("")}</defs>`,
    `<rect width="100%" height="100%" rx="8" fill="${palette.background}"/>`,
    ...boxes.map((box) => drawn(box, palette)),
    ...machine,
    line("M200 70V98", "dim"),
    line("M120 222V180", "red"),
    line("M329 166V220", "green"),
    `<text x="110" y="205" fill="${palette.dim}" font-size="13" text-anchor="end">asks</text>`,
    `<text x="318" y="205" fill="${palette.dim}" font-size="13" text-anchor="end">does what you granted</text>`,
    "</svg>\n",
  ].join("\n");
}

function drawn({ x, y, width, height, title, text, wall }: Box, palette: Palette): string {
  const isLow = height < 40;
  const stroke = wall === undefined
    ? `stroke="${palette.dim}" stroke-width="1"`
    : `stroke="${palette[wall]}" stroke-width="2"`;
  const words = isLow && text !== undefined
    ? `<text x="${x + 10}" y="${y + 16}" fill="${palette.text}" font-size="13" font-weight="600">${title}</text>` +
      `<text x="${x + 10}" y="${y + 30}" fill="${palette.dim}" font-size="12">${text}</text>`
    : `<text x="${x + 12}" y="${y + 20}" fill="${palette.text}" font-weight="600">${title}</text>` +
      (text === undefined
        ? ""
        : `<text x="${x + 12}" y="${y + 37}" fill="${palette.dim}" font-size="12.5">${text}</text>`);
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="none" ${stroke}/>${words}`;
}
