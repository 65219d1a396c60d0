/** Every path that the authorization server serves, and how. Other paths under /oauth belong to other modules. */

export const paths = {
  metadata: '/.well-known/oauth-authorization-server',
  openid: '/.well-known/openid-configuration',
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  jwks: '/oauth/jwks',
  interaction: '/oauth/interaction',
  signIn: '/oauth/sign-in',
  /** Where the company's provider sends people back to. */
  returned: '/oauth/sign-in/callback',
  signOut: '/oauth/sign-out',
  endSession: '/oauth/session',
} as const;

export type RouteKind = 'document' | 'authorize' | 'resume' | 'api' | 'register' | 'page' | 'returned' | 'library-form';

export interface AuthServerRoute {
  readonly kind: RouteKind;
  readonly methods: readonly string[];
  /** Browsers navigate to this path, possibly from a page of a different site. */
  readonly navigated: boolean;
  /** The last segment of the path, for routes that have one. */
  readonly id?: string;
}

const documents = { kind: 'document', methods: ['GET', 'HEAD'], navigated: false } as const;
const api = { kind: 'api', methods: ['POST'], navigated: false } as const;
const page = { kind: 'page', methods: ['GET', 'HEAD', 'POST'], navigated: true } as const;

const exact: Readonly<Record<string, AuthServerRoute>> = {
  [paths.metadata]: documents,
  [paths.openid]: documents,
  [paths.jwks]: documents,
  [paths.authorize]: { kind: 'authorize', methods: ['GET'], navigated: true },
  [paths.token]: api,
  [paths.revoke]: api,
  [paths.register]: { ...api, kind: 'register' },
  [paths.signIn]: page,
  [paths.signOut]: page,
  [paths.returned]: { kind: 'returned', methods: ['GET'], navigated: true },
  [`${paths.endSession}/confirm`]: { kind: 'library-form', methods: ['POST'], navigated: true },
};

/** The form of ids that the library generates. */
const id = /^[A-Za-z0-9_-]{1,64}$/;

export function routeOf(path: string): AuthServerRoute | undefined {
  if (Object.hasOwn(exact, path)) return exact[path];
  for (const [prefix, route] of [
    [`${paths.interaction}/`, page],
    [`${paths.authorize}/`, { kind: 'resume', methods: ['GET'], navigated: true }],
  ] as const) {
    const rest = path.startsWith(prefix) ? path.slice(prefix.length) : '';
    if (id.test(rest)) return { ...route, id: rest };
  }
  return undefined;
}
