/** Every path that the authorization server answers, and how. What stands elsewhere under /oauth belongs to others. */

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
  signOut: '/oauth/sign-out',
  endSession: '/oauth/session',
} as const;

export type RouteKind = 'document' | 'authorize' | 'resume' | 'api' | 'register' | 'page' | 'library-form';

export interface AuthServerRoute {
  readonly kind: RouteKind;
  readonly methods: readonly string[];
  /** A browser goes there by itself, from wherever it was: the page that led to it may be anybody's. */
  readonly navigated: boolean;
  /** What stands behind the path of those that have one. */
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
  [`${paths.endSession}/confirm`]: { kind: 'library-form', methods: ['POST'], navigated: true },
};

/** What the library makes for the end of a path. */
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
