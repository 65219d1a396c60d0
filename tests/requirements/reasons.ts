/** Why something is not asked of a gateway. Shared, because a reason is worth writing well once. */

export const clientSide =
  'What a client does with a message after it has arrived. The gateway delivers the message and sees nothing of this.';

export const serverSide =
  'How a server library treats the functions registered with it. The gateway sees only the messages that come out.';

export const sdkApi = 'A feature of the programming interface of a library. Nothing of it is visible on the wire.';

export const contentUnjudged =
  'A rule on content, kept by the two ends. The gateway passes content on as it is and judges none of it.';

export const noPinnedEra =
  'The gateway has no mode that fixes the era of a backend. It finds the era by probing, and remembers it.';

export const noExtensions =
  'No extension that the gateway carries has a result type or notifications of its own, and it advertises no others.';
