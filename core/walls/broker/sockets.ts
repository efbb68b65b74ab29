import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import type { Operations } from "../channel/operations.ts";
import type { MessageSocket } from "../../ground/platform/net/web-socket.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";
import { refuseUnreadable } from "../agent/followed-fetch.ts";
import { parseUrl, reachTarget } from "./reach-target.ts";
import { checkHeaders, headersSchema } from "./request-headers.ts";

type OpenArgs = Operations["socket_open"]["args"];

const id = Type.Integer({ minimum: 1 });

/** WebSockets to granted hosts. */
export const socketOperations: readonly Operation[] = [
  operation("socket_open", {
    args: exactly<OpenArgs>()(
      Type.Object({
        url: Type.String({ minLength: 1, maxLength: 8192 }),
        options: Type.Object({ headers: headersSchema }, closed),
      }, closed),
    ),
    waits: true,
    async perform(scope, args) {
      return { socket_id: await scope.sockets.add(() => openSocket(scope, args)) };
    },
  }),
  operation("socket_read", {
    args: exactly<Operations["socket_read"]["args"]>()(Type.Object({ socket_id: id }, closed)),
    waits: true,
    perform: ({ sockets }, { socket_id }) => sockets.read(socket_id),
  }),
  operation("socket_send", {
    args: exactly<Operations["socket_send"]["args"]>()(Type.Object({ socket_id: id, text: Type.String() }, closed)),
    waits: true,
    async perform({ sockets }, { socket_id, text }) {
      await sockets.send(socket_id, text);
      return null;
    },
  }),
  operation("socket_close", {
    args: exactly<Operations["socket_close"]["args"]>()(
      Type.Object({ socket_id: id, code: Type.Integer(), reason: Type.String() }, closed),
    ),
    waits: true,
    async perform({ sockets }, { socket_id, code, reason }) {
      await sockets.close(socket_id, { code: checkCode(code), reason: checkReason(reason) });
      return null;
    },
  }),
];

async function openSocket(scope: BrokerScope, { url: text, options }: OpenArgs): Promise<MessageSocket> {
  const { socket_message_bytes: maxMessage, socket_waiting_bytes: maxWaiting } = scope.options.limits;
  const url = parseUrl(text, ["ws:", "wss:"]);
  // No server is sent a fragment, and the library takes none.
  url.hash = "";
  refuseUnreadable(scope.options, url);
  const headers = checkHeaders(options.headers ?? {});
  const { openWebSocket } = await import("../../ground/platform/net/web-socket.ts");
  return await reachTarget(scope, { url, headers }, (way) => openWebSocket(url, { ...way, maxMessage, maxWaiting }));
}

/** The codes that are an application's to give (RFC 6455, 7.4). */
function checkCode(code: number): number {
  if (code === 1000 || (code >= 3000 && code <= 4999)) return code;
  throw new BulkheadError("invalid_request", "Cannot close a WebSocket: its code is neither 1000 nor 3000 to 4999.");
}

function checkReason(reason: string): string {
  if (new TextEncoder().encode(reason).byteLength <= 123) return reason;
  throw new BulkheadError("invalid_request", "Cannot close a WebSocket: its reason is longer than 123 bytes.");
}
