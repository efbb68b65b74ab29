/** Families of notifications of which nothing is told: other events tell it, or they are for clients that show a list of threads. */
const families =
  /^(?:account|app|autoApprovalReview|externalAgentConfig|fs|fuzzyFileSearch|hook|project|rawResponse|remoteControl|skills|thread|windows|windowsSandbox)\//;
const others: readonly string[] = [
  "command/exec/outputDelta",
  "item/autoApprovalReview/completed",
  "item/autoApprovalReview/started",
  "item/commandExecution/outputDelta",
  "item/commandExecution/terminalInteraction",
  "item/fileChange/outputDelta",
  "item/fileChange/patchUpdated",
  "item/plan/delta",
  "mcpServer/event/stream/notification",
  "mcpServer/oauthLogin/completed",
  "model/safetyBuffering/updated",
  "model/verification",
  "modelProvider/authRecoveryCompleted",
  "modelProvider/authRecoveryStarted",
  "process/exited",
  "process/outputDelta",
  "rawResponseItem/completed",
  "serverRequest/resolved",
  "turn/diff/updated",
  "turn/moderationMetadata",
  "turn/started",
];

/** Whether a notification is known, and tells nothing of a session. */
export function isQuiet(method: string): boolean {
  return families.test(method) || others.includes(method);
}
