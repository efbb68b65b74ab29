import OpenAiCompatible from "../../plugins/openai-compatible/mod.ts";
import { data, testTurns } from "./model-turns.ts";

testTurns({
  Adapter: OpenAiCompatible,
  mode: { type: "local", enabled: true, model: "m", endpoint: "http://model.example/v1" },
  say: (text) => data({ choices: [{ delta: { content: text } }] }),
  end: `${data({ choices: [{ delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`,
});
