import {
  BulkheadError,
  fieldsOf,
  fieldsOrNone,
  type JsonFields,
  type JsonRpcPeer,
  objectsOf,
  textOf,
} from "bulkhead/plugin-sdk";

/** A session as the agent opened it. */
interface Opened {
  sessionId: string;
  /** The agent's answer to its opening. */
  session: JsonFields;
}

/** The model that a session begins with, where the agent tells. */
export function modelOf(session: JsonFields): string | undefined {
  const chosen = textOf(optionOf(session, "model")?.["currentValue"]);
  return (textOf(fieldsOrNone(session["models"])["currentModelId"]) ?? chosen)?.slice(0, 1024);
}

/**
 * Asks for a model, in the way that the agent has: an option of the session, or its list of models. Gives it back.
 * @throws {BulkheadError} `invalid_model` for one that it does not offer
 */
export async function chooseModel(
  agent: JsonRpcPeer,
  { sessionId, session, model }: Opened & { model: string | undefined },
): Promise<string | undefined> {
  if (model === undefined) return undefined;
  const option = optionOf(session, "model");
  if (option) {
    checkOffered(model, { offered: valuesOf(option), what: "model" });
    await chooseOption(agent, { sessionId, session, option, value: model });
    return model;
  }
  const listed = objectsOf(fieldsOrNone(session["models"])["availableModels"]);
  checkOffered(model, { offered: listed.flatMap(({ modelId }) => textOf(modelId) ?? []), what: "model" });
  await agent.request("session/set_model", { sessionId, modelId: model });
  return model;
}

/**
 * Asks for a mode, such as one that only plans.
 * @throws {BulkheadError} `invalid_request` for one that the agent does not offer
 */
export async function chooseMode(
  agent: JsonRpcPeer,
  { sessionId, session, mode }: Opened & { mode: string | undefined },
): Promise<void> {
  if (mode === undefined) return;
  const modes = fieldsOf(session["modes"]);
  if (modes) {
    const offered = objectsOf(modes["availableModes"]).flatMap(({ id }) => textOf(id) ?? []);
    checkOffered(mode, { offered, what: "mode" });
    await agent.request("session/set_mode", { sessionId, modeId: mode });
    return;
  }
  const option = optionOf(session, "mode");
  checkOffered(mode, { offered: option ? valuesOf(option) : [], what: "mode" });
  await chooseOption(agent, { sessionId, session, option: option!, value: mode });
}

/** Asks for a value of an option, and notes what the agent offers then. */
export async function chooseOption(
  agent: JsonRpcPeer,
  { sessionId, session, option, value }: Opened & { option: JsonFields; value: string },
): Promise<void> {
  const asked = { sessionId, configId: String(option["id"]), value };
  const { configOptions } = fieldsOrNone(await agent.request("session/set_config_option", asked));
  if (Array.isArray(configOptions)) Object.assign(session, { configOptions });
}

function checkOffered(name: string, { offered, what }: { offered: string[]; what: "model" | "mode" }): void {
  if (offered.includes(name)) return;
  const list = offered.length === 0 ? `The agent offers no choice of a ${what}.` : `It offers ${offered.join(", ")}.`;
  const code = what === "model" ? "invalid_model" : "invalid_request";
  throw new BulkheadError(code, `The agent does not offer the ${what} "${name}".`, { hint: list.slice(0, 1024) });
}

/** An option of a session by its category. */
export function optionOf(session: JsonFields, category: string): JsonFields | undefined {
  return objectsOf(session["configOptions"]).find((option) => option["category"] === category);
}

/** Values of an option; they may stand in groups. */
export function valuesOf({ options }: JsonFields): string[] {
  return objectsOf(options).flatMap((option) => {
    const group = objectsOf(option["options"]);
    return (group.length > 0 ? group : [option]).flatMap(({ value }) => textOf(value) ?? []);
  });
}
