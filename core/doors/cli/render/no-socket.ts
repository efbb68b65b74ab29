/** Words in place of the socket of a daemon that has none. */
export const noSocket = "none; the log says why";
