import { classifyAddress } from "../../../core/walls/broker/reach-target.ts";
import {
  coversTarget,
  formatTarget,
  isLocalName,
  namesLiterally,
  netTarget,
} from "../../../core/ground/config/net-target.ts";
import { checkHeaders } from "../../../core/walls/broker/request-headers.ts";
import { promise, type Target } from "../target.ts";

/** Where requests go and what they carry. */
export const addressTargets: readonly Target[] = [
  {
    name: "url",
    weight: 10,
    seeds: [
      "https://example.com/x\n*.example.com:443",
      "http://[::ffff:127.0.0.1]:80/\n127.0.0.1:80",
      "http://0x7f.1/\n127.0.0.1:80",
      "https://a@b.example.com:444/#x\nb.example.com:444",
      "http://localhost./\nlocalhost:80",
      "wss://example.com/x\nexample.com:443",
    ],
    tokens: [
      "http://",
      "https://",
      "ws://",
      "wss://",
      "@",
      "#",
      "?",
      ":443",
      "*.",
      "127.0.0.1",
      "0177.0.0.1",
      "[::1]",
      "xn--",
      "。",
      "%2e",
      "\\",
      "\n",
      ".",
    ],
    read(input) {
      const [text = "", grant = ""] = input.split("\n");
      if (!URL.canParse(text)) return;
      const url = new URL(text);
      if (!["http:", "https:", "ws:", "wss:"].includes(url.protocol)) return;
      const target = netTarget(url);
      promise(Number.isInteger(target.port) && target.port >= 0 && target.port < 65_536, "a target has a port");
      if (namesLiterally(grant, target)) promise(coversTarget(grant, target), "a grant that names a target covers it");
      if (grant.startsWith("*.") && coversTarget(grant, target)) {
        promise(target.host.includes("."), "a wildcard covers no single label");
      }
      isLocalName(target.host);
      formatTarget(target);
    },
  },
  {
    name: "address",
    weight: 6,
    seeds: [
      "127.0.0.1",
      "::1",
      "::ffff:10.0.0.1",
      "169.254.169.254",
      "fe80::1%eth0",
      "64:ff9b::7f00:1",
      "2002:7f00:1::",
      "8.8.8.8",
    ],
    tokens: [".", ":", "::", "0x7f", "0177", "ffff", "%", "/8", "127", "255"],
    read(input) {
      const kind = classifyAddress(input);
      if (/^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(input)) promise(kind !== "public", "loopback is never public");
      if (/^(10|192\.168|172\.16)\./.test(input)) promise(kind !== "public", "private is never public");
    },
  },
  {
    name: "headers",
    weight: 4,
    seeds: ["Accept: */*\nX-A: b", "Host: x\nContent-Length: 1", "A: b\r\nInjected: c"],
    tokens: ["\r\n", ": ", "\n", "Host", "Connection", "Transfer-Encoding", "\0", "__proto__"],
    read(input) {
      const headers = Object.fromEntries(
        input.split("\n").map((line) => {
          const at = line.indexOf(": ");
          return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 2)];
        }),
      );
      for (const [name, value] of Object.entries(checkHeaders(headers))) {
        promise(!/[\r\n\0]/.test(name + value), "no header holds a line end");
        promise(name === name.toLowerCase(), "names are in lower case");
      }
    },
  },
];
