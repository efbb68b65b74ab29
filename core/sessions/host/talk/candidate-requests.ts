import { omitEmpty, omitUndefined } from "../../../../plugin-sdk/optional-fields.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import { briefing } from "../../../ground/prompt/briefing.ts";
import { type ContextFile, enhancePrompt } from "../../../ground/prompt/enhance-prompt.ts";
import type { PromptSettings } from "../../../ground/prompt/prompt-settings.ts";
import type { Candidate, EarlierTurn, FurtherTurn } from "../../session/admitted.ts";

/** Turns of earlier sessions, for an agent that does not remember them. */
export interface RecalledTurns {
  earlier: readonly EarlierTurn[];
  /**
   * Reads the turns that the agent remembers by a session of its own, for one that turns out not to go on with it, or not to
   * copy it; null where the host has not chosen that session.
   */
  instead: (() => Promise<readonly EarlierTurn[]>) | null;
}

/** Nothing to recall: the session begins a conversation. */
export const noTurns: RecalledTurns = { earlier: [], instead: null };

interface CandidateRequestsOptions {
  settings: PromptSettings;
  contextFiles: readonly ContextFile[];
  recalled: RecalledTurns;
  /** Fields that the adapter does not accept. */
  unenforced: readonly string[];
  takesSystemPrompt: boolean;
  takesOutputSchema: boolean;
}

/** Makes the requests that one adapter gets in a session, each with its complete prompt. */
export function candidateRequests(
  fitted: SessionRequest,
  { settings, contextFiles, recalled, unenforced, ...taken }: CandidateRequestsOptions,
): Pick<Candidate, "request" | "briefedRequest" | "furtherRequest"> {
  const { instead } = recalled;
  const { workdir } = fitted;
  let { earlier } = recalled;
  const first = (request: SessionRequest): SessionRequest => {
    const told = earlier.length === 0 ? {} : { briefing: briefing(earlier) };
    const prompt = enhancePrompt(request, { settings, workdir, contextFiles, ...told, ...taken });
    return asSent({ ...request, prompt }, { ...taken, unenforced });
  };
  return {
    request: first(fitted),
    briefedRequest: instead && (async () => {
      earlier = await instead();
      const { continue_from: _session, fork: _copy, ...same } = fitted;
      return first(same);
    }),
    furtherRequest: (further) => {
      const turn = further.agentSession === null ? { ...further, earlier: [...earlier, ...further.earlier] } : further;
      const asked = furtherRequest(fitted, turn);
      const { system_prompt: _known, ...alone } = asked;
      // An agent that remembers has its instructions already.
      const told = turn.earlier.length > 0 ? asked : alone;
      const prompt = enhancePrompt(told, { settings, workdir, contextFiles: [], ...taken });
      return asSent({ ...asked, prompt }, { ...taken, unenforced });
    },
  };
}

/** Leaves out the parts of a first prompt alone: the agent has them, or the briefing tells the outcome. */
function furtherRequest(
  {
    context_files: _read,
    role: _role,
    iteration: _count,
    enhance: _text,
    output_schema: _schema,
    continue_from: _agent,
    content: _parts,
    fork: _copy,
    ...same
  }: SessionRequest,
  { text, content, outputSchema, terms, agentSession, earlier }: FurtherTurn,
): SessionRequest {
  const prompt = earlier.length === 0 ? text : `${briefing(earlier)}\n\n${text}`;
  return {
    ...same,
    ...terms,
    prompt,
    ...omitEmpty({ content: [...content] }),
    ...omitUndefined({ output_schema: outputSchema, continue_from: agentSession ?? undefined }),
  };
}

/** Returns the request without the fields that the host has put into the prompt or that the adapter does not accept. */
function asSent(
  { context_files: _inPrompt, record: _kept, replay_of: _played, system_prompt, output_schema, ...request }:
    SessionRequest,
  { takesSystemPrompt, takesOutputSchema, unenforced }: {
    takesSystemPrompt: boolean;
    takesOutputSchema: boolean;
    unenforced: readonly string[];
  },
): SessionRequest {
  const kept = Object.entries(request).filter(([field]) => !unenforced.includes(field));
  const system = takesSystemPrompt && system_prompt !== undefined ? { system_prompt } : {};
  const schema = takesOutputSchema && output_schema !== undefined ? { output_schema } : {};
  return { ...Object.fromEntries(kept) as unknown as SessionRequest, ...system, ...schema };
}
