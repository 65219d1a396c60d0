/** The message is for the log, and contains nothing from the issuer or the browser. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  /** The issuer itself refused, in a verified response. */
  readonly refused: boolean;

  constructor(
    message: string,
    { refused = false, cause }: { readonly refused?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.refused = refused;
  }
}
