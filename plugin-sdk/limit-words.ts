import { foreignLimits } from "./foreign-limits.ts";

// Every repeat below is bounded, and every text is cut before it is read, so matching stays linear in the text.

/** Terms that name a limit in the output of a failure, whatever stands around them. */
export const limitTerms: readonly RegExp[] = [
  // A header names its limit in good days as well, and words such as "generate" end like it.
  /(?<![a-z])rate.?limit(?![-_](?:limit|remaining|reset|used|policy|resource|event|info))/i,
  /[a-z]Rate.?[Ll]imit/,
  /ratelimit-remaining[\w-]{0,30}["']?\s?[:=]\s?["']?0(?!\d)/i,
  /too.many.requests|\brate exceeded\b|reduce your request rate/i,
  // The status, and no line of a file, count or number of an issue.
  /(?<![\w#/.,$-])(?<!\.\w{1,5}:)(?<!\.\w{1,5}:\d{1,6}:)(?<!\b(?:lines?|port|issue|pr|pid|test) )429(?![\w/]|[.,:]\d|\s?(?:ms|s|[kmg]i?b|tokens?|lines?|bytes?|files?|tests?|turns?|matches|results|rows|packages|times|char\w*|items?|%)(?!\w))/i,
  // A server that is broken asks for that too.
  /^(?!.*(?:\b5\d\d\b|unavailable|overloaded|server.?error|internal|maintenance)).*try again later/im,
  /(?<!cpu |thermal )\bthrottl(?:ed\b|ing)/i,
  /\bresource.?exhausted(?!.{0,60}(?:larger than|message size|memory|disk|space))/i,
  /\bresource has been exhausted\b/i,
  /exhausted your .{0,40}capacity/i,
  /\breached for th(?:is|e) (?:\w{1,12} )?(?:hour|day|week|month)\b/i,
  /^(?:error|fatal)?\W{0,8}(?:usage|session|hourly|daily|weekly|monthly|plan) (?:limit|quota)\W{0,3}$/im,
  /too many tokens.{0,20}(?:wait|per (?:minute|hour|day))/i,
  /exceed\w{0,4}\b.{0,60}\b(?:requests?|tokens?)[ _-]per[ _-](?:min|hour|day|week|month)/i,
  /(?:requests?|tokens?)[ _-]per[ _-](?:minute|hour|day|week|month)\b.{0,20}exceeded/i,
  /\busage (?:exceeded|exhausted|used up)|\bout of (?:\w{1,12} )?(?:usage|requests|messages|prompts)\b/i,
  /\bused (?:up )?all (?:of )?your (?:[\w-]{1,20} ){0,4}(?:usage|allowance|requests|messages|prompts)\b/i,
  ...foreignLimits,
];

/** Things that a request or a program can have too much of: no wait lifts such a limit. */
const fixed =
  /\b(?:contexts?|lengths?|sizes?|turns?|steps?|iterations?|depth|recursion|nesting|time|timeouts?|memory|heap|stack|disk|storage|inodes?|retry|retries|attempts?|tools?|descriptors?|process(?:es)?|threads?|cpu|compaction)\b/i;
/** The same, unless it is counted over a span of time. */
const counted =
  /\b(?:tokens?|output|input|windows?|files?|uploads?|attachments?|images?|char(?:acter)?s?|words?|lines?|bytes?|[kmg]i?b|body|payload|buffer|budget|prompt|max(?:imum)?)\b/i;
const span =
  /\b(?:hour(?:s|ly)?|h|days?|daily|weeks?|weekly|months?|monthly|minutes?|min|usage|rate|quota|tp[md]|rp[md]|billing|spend(?:ing)?)\b/i;
/** Things that a plan or a server limits. */
const plans =
  /\b(?:sessions?|messages?|requests?|plan(?:'?s)?|subscription|accounts?|org\w{0,12}|team|workspace|api|credits?|free|pro|premium|key|tier|concurren\w{1,5}|call|calls|prompts)\b/i;
const reached = "(?:reach(?:ed|es)?|exceed(?:ed|s)?|hits?|exhausted|depleted|surpassed|used up|maxed out)";
const reachedBefore = new RegExp(
  `\\b(?:${reached}|exceeding|reaching|hitting|insufficient|out of|over|beyond|maxed)((?: [^ ]{1,24}){0,9}) $`,
  "i",
);
const reachedAfter = new RegExp(
  `^s? {0,2}(?:(?:of|for|on) (?:[^ ]{1,24} ){1,5}?)?(?:(?:has|have|is|are|was|were|been|already|now|all) ){0,4}(?:${reached}|error)\\b`,
  "i",
);
const resets = /^s?(?![a-z])[^\n%]{0,40}\b(?:resets?|renews?|refreshes)\b/i;
const share = /(?<!\d)(?!100\b)\d{1,2}(?:\.\d{1,3})? ?%/;
const unsaid =
  /\b(?:not|never|if|when|once|before|unless|avoid\w{0,3}|approach\w{0,3}|near\w{0,3}|close|almost|about|without|no)\b|n['’]t\b/i;
const hint = /\b(?:resets?|try again|retry|wait|upgrade|renews?)\b/i;
const clauseEnd = /[!?;:|"{}()\n·∙•,\]]|\.(?: |$)/g;
const mostPhrases = 1000;

/**
 * Returns true for a text that states that a limit of a plan or a server is reached ("You've hit your weekly limit",
 * "usage_limit_reached", "Daily quota exceeded"). The limit of what one request may hold, such as a context, is none.
 */
export function statesLimit(text: string): boolean {
  const plain = text.replace(/(?<=[a-z])(?=[A-Z])|[_-]/g, " ").replace(/’/g, "'");
  let count = 0;
  for (const { 0: word, index } of plain.matchAll(/\b(?:limit|quota|allowance|cap)(?=s?\b)/gi)) {
    if (++count > mostPhrases) return false;
    if (isReached(plain, { word: word.toLowerCase(), index })) return true;
  }
  return false;
}

function isReached(text: string, { word, index }: { word: string; index: number }): boolean {
  const before = lastClause(text.slice(Math.max(0, index - 120), index));
  const after = text.slice(index + word.length, index + word.length + 120);
  const verb = reachedBefore.exec(before);
  const said = verb !== null || reachedAfter.test(after);
  if (!said && !resets.test(after)) return false;
  if (share.test(before) || (said && unsaid.test(before))) return false;
  const beyond = /^s? (?:of|for|on|per) ((?:[^ ]{1,24} ?){1,6})/.exec(after)?.[1] ?? "";
  const noun = `${verb?.[1] ?? before.split(" ").slice(-5).join(" ")} ${beyond}`;
  if (fixed.test(noun)) return false;
  if (span.test(noun)) return true;
  if (counted.test(noun)) return false;
  if (word === "quota" || plans.test(noun)) return true;
  // The noun says nothing: whose limit it is may stand before the verb.
  if (fixed.test(before) || counted.test(before)) return false;
  return /\byou/i.test(before) || hint.test(after);
}

function lastClause(text: string): string {
  let start = 0;
  for (const end of text.matchAll(clauseEnd)) start = end.index + end[0].length;
  return text.slice(start);
}
