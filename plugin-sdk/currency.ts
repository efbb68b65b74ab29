/** A currency as in ISO 4217, such as `USD`. It is printed beside amounts, so no other text may pass. */
export const currencyPattern = "^[A-Z]{3}$";

/**
 * Formats money for people: `$0.0036` for dollars, which a cost without a currency is in, else `0.0036 EUR`. An unknown
 * cost is `unknown`, never 0; one that a plan covers is `not billed`.
 */
export function formatCost(cost: number | null, currency: string | null): string {
  if (cost === null) return "unknown";
  if (cost === 0 && currency === null) return "not billed";
  const isTiny = cost > 0 && cost < smallestShown;
  const amount = isTiny ? String(smallestShown) : cost === 0 ? "0" : grouped(cost.toFixed(cost < 0.01 ? 4 : 2));
  const isKnown = currency !== null && new RegExp(currencyPattern).test(currency);
  const unit = isKnown ? currency : "in no known currency";
  const text = currency === null || currency === "USD" ? `$${amount}` : `${amount} ${unit}`;
  return isTiny ? `<${text}` : text;
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(?:\d{3})+(?:\.|$))(?<!\.\d*)/g, ",");
}

/** The smallest amount that four places show. */
const smallestShown = 0.0001;
