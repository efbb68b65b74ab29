// Every repeat below is bounded, so matching stays linear in the text.

/** Words for what one request may hold: no wait lifts that limit. */
const unlessFixed =
  "^(?![^\\n]{0,2000}(?:kontext|contexto|contexte|contesto|контекст|컨텍스트|コンテキスト|上下文|tokens?\\b|トークン|토큰|speicher|memoria|mémoire|disco|disque))[^\\n]{0,2000}?";

function limit(words: string): RegExp {
  return new RegExp(unlessFixed + `(?:${words})`, "im");
}

/** Sentences of programs that speak another language than English to say that a limit is reached. */
export const foreignLimits: readonly RegExp[] = [
  limit(
    "(?:limit|kontingent)s? (?:ist |wurde |bereits ){0,2}(?:erreicht|überschritten|erschöpft|ausgeschöpft)|zu viele anfragen",
  ),
  limit(
    "l[ií]mites? (?:de [^.\\n]{1,40} )?(?:alcanzado|excedido|superado)|(?:alcanzado|superado|excedido) (?:el|su|tu) l[ií]mite|demasiadas (?:solicitudes|peticiones)",
  ),
  limit(
    "(?:limite|quota) (?:d[e'’][^.\\n]{1,40} )?(?:est )?(?:atteint|dépassé|épuisé)e?|(?:atteint|dépassé) (?:la|votre) limite|trop de requêtes",
  ),
  limit(
    "limite (?:d[eio]\\w{0,4} [^.\\n]{1,40} )?(?:foi )?(?:atingido|excedido|raggiunto|superato)|muitas solicitações|troppe richieste",
  ),
  limit(
    "лимит[^.\\n]{0,30}(?:превышен|достигнут|исчерпан)|(?:превышен|достигнут|исчерпан)[а-я]{0,2} [^.\\n]{0,30}(?:лимит|квот)|слишком много запросов",
  ),
  limit("(?:한도|할당량)[^.\\n]{0,12}(?:도달|초과|소진)|요청이 너무 많"),
  limit(
    "使用上限|額度已|额度已|请求(?:次数)?过(?:于频繁|多)|速率限制|(?:超出|超过|达到)[^。\\n]{0,12}(?:限额|配额|上限|限制)|レート制限|(?:上限|制限)[^。\\n]{0,6}(?:達し|超え|到達)|リクエストが多すぎ",
  ),
];

const units: readonly [unit: string, seconds: number][] = [
  ["sekunden?|segundos?|secondes?|secondi?|секунд[ауы]?|秒钟?|초", 1],
  ["minuten?|minutos?|minutes?|minuti|минут[ауы]?|分钟?|분", 60],
  ["stunden?|horas?|heures?|or[ae]|час(?:а|ов)?|小时|個小時|时间|時間|시간", 3600],
  ["tag(?:en?)?|días?|dias?|jours?|giorn[io]|дн(?:я|ей)|день|天|日|일", 86_400],
  ["wochen?|semanas?|semaines?|settiman[ae]|недел[юиь]|周|週間|주", 604_800],
];
const part = `\\d{1,6} ?(?:${units.map(([unit]) => unit).join("|")})(?![a-zà-ÿа-я])`;
const span = `((?:${part}[ ,]{0,2}(?:(?:und|y|et|e|и) )?){1,4})`;
const spans = new RegExp(`(?:(?<![a-zà-ÿа-я])(?:in|en|dans|em|tra|fra|через) ${span})|${span} ?(?:后|後|후|以内)`, "i");

/** Returns the seconds of the first span that such a sentence asks to wait for; null if there is none. */
export function readForeignSpan(text: string): number | null {
  const [, before, behind] = spans.exec(text) ?? [];
  const found = before ?? behind;
  if (found === undefined) return null;
  let sum = 0;
  for (const [one] of found.matchAll(new RegExp(part, "gi"))) {
    const named = one.replace(/^\d+ ?/, "");
    const [, seconds = 0] = units.find(([unit]) => new RegExp(`^(?:${unit})$`, "i").test(named)) ?? [];
    sum += Number.parseInt(one, 10) * seconds;
  }
  return sum;
}
