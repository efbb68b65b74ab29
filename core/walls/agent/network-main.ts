// Opens the ports of a network of its own, bundled to `dist/walls/network.js`.
import { openPorts } from "./network-side.ts";

await openPorts();
