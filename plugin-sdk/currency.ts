/** A currency as ISO 4217 writes it, `USD`: it is printed beside amounts, so nothing else may stand there. */
export const currencyPattern = "^[A-Z]{3}$";
