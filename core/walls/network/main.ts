// Opens the ports of a network of its own, bundled to `dist/walls/network.js`.
import { openPorts } from "../../ground/runtime/network-side.ts";

await openPorts();
