// Usage: npm run docs:pictures. Draws the pictures of the documents that need no browser.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../structure/source.ts";
import { drawDemo } from "./draw-demo.ts";
import { drawWalls } from "./draw-walls.ts";

const folder = join(root, ".github/docs/pictures");
mkdirSync(folder, { recursive: true });
drawWalls(folder);
await drawDemo(folder);
