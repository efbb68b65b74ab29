import { openApiRoute } from "../openapi.ts";
import type { ApiRoute } from "../route.ts";
import { againRoutes } from "./again.ts";
import { agentRoutes } from "./agents.ts";
import { attachmentRoutes } from "./attachments.ts";
import { clusterRoute } from "./cluster.ts";
import { comparisonRoutes } from "./comparisons.ts";
import { consoleRoutes } from "./console.ts";
import { conversationRoutes } from "./conversations.ts";
import { eventRoutes } from "./events.ts";
import { heldRoutes } from "./held.ts";
import { historyRoutes } from "./history.ts";
import { hostRoutes, reloadRoute } from "./host.ts";
import { lookThroughRoutes } from "./look-through.ts";
import { markRoute } from "./marks.ts";
import { pluginRoutes } from "./plugins.ts";
import { searchRoutes } from "./search.ts";
import { sessionRoutes } from "./sessions.ts";
import { testsRoute } from "./tests.ts";
import { waitingRoutes } from "./waiting.ts";
import { wallRoutes } from "./walls.ts";
import { workspaceRoutes } from "./workspaces.ts";

const served = [
  ...sessionRoutes,
  ...againRoutes,
  ...conversationRoutes,
  ...attachmentRoutes,
  ...comparisonRoutes,
  ...waitingRoutes,
  ...workspaceRoutes,
  ...heldRoutes,
  ...eventRoutes,
  markRoute,
  testsRoute,
  ...lookThroughRoutes,
  ...historyRoutes,
  ...searchRoutes,
  ...agentRoutes,
  ...pluginRoutes,
  ...wallRoutes,
  ...hostRoutes,
  ...consoleRoutes,
  clusterRoute,
  reloadRoute,
];

/** Every route. To add one: define it in a list in a file of this folder, and add that list here. */
export const routes: readonly ApiRoute[] = [...served, openApiRoute(served)];
