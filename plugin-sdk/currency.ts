/** A currency as in ISO 4217, such as `USD`. It is printed beside amounts, so no other text may pass. */
export const currencyPattern = "^[A-Z]{3}$";
