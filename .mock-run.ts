import { startMockModel } from "./test/agents/mock-model/mock-model.ts";
const model = await startMockModel();
const run = model.open("text", { workdir: "/tmp/bh/su/work", offersTools: true });
console.log(run.url);
setInterval(() => {}, 1000);
