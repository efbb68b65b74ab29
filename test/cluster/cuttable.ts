import { connect, createServer, type Socket } from "node:net";

/** A way to a server that a test can cut. */
export interface Cuttable {
  url: string;
  /** Lets nothing through, and tells neither side. */
  cut(): void;
  /** Lets nothing through, and closes the connections. */
  shut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** Opens a way to a server on loopback. */
export async function cuttable(url: string): Promise<Cuttable> {
  const to = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  let isCut = false;
  const add = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    add(near);
    if (isCut) return;
    const far = connect({ port: to, host: "127.0.0.1" });
    add(far);
    for (const [from, into] of [[near, far], [far, near]] as const) {
      // What was sent into the cut is gone, as are its acknowledgements.
      from.on("data", (data) => isCut || into.destroyed ? undefined : into.write(data));
      from.on("close", () => isCut ? undefined : into.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const drop = () => sockets.forEach((socket) => socket.destroy());
  return {
    url: `nats://127.0.0.1:${port}`,
    cut: () => void (isCut = true),
    shut: () => {
      isCut = true;
      drop();
    },
    mend: () => {
      drop();
      isCut = false;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      drop();
      await closed;
    },
  };
}
