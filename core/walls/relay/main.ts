// The relay of a contained agent, bundled to `dist/walls/relay.js`.
import { relay } from "../../ground/runtime/relay-side.ts";

await relay();
