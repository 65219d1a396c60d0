/** Routes of the pages for a person's consent towards a backend. */
import { type Mounted, mount, type PageSet } from '../../../web/mount.ts';
import type { PageRequest, PageResponse } from '../../../web/request.ts';
import { callbackPath, connectPath } from '../settings.ts';
import { Browsers } from './browser.ts';
import { CallbackPages } from './callback.ts';
import { ConnectPages } from './connect.ts';
import { CookieJar } from './cookies.ts';
import { FlowCookies } from './flow-cookies.ts';
import { keyAttempts } from './key-attempts.ts';
import { wrongMethod } from './outcome-views.ts';
import { signedInPath } from './paths.ts';
import type { ConnectPorts } from './ports.ts';

type PageHandler = (request: PageRequest) => Promise<PageResponse>;

interface PageRoute {
  /** By method. HEAD is allowed only where GET changes nothing. */
  readonly methods: ReadonlyMap<string, PageHandler>;
}

export function connectPages(ports: ConnectPorts): PageSet {
  const jar = new CookieJar(ports.publicUrl);
  const flowCookies = new FlowCookies(jar, ports.seal, ports.now);
  const browsers = new Browsers(jar, ports.random);
  const connect = new ConnectPages(ports, browsers, flowCookies, keyAttempts(ports.now));
  const callback = new CallbackPages(ports, flowCookies);

  const show: PageHandler = (request) => connect.show(request);
  const link = place({ GET: show, HEAD: show, POST: (request) => connect.take(request) });
  const exact: ReadonlyMap<string, PageRoute> = new Map([
    [callbackPath, place({ GET: (request) => callback.consented(request) })],
    [signedInPath, place({ GET: (request) => callback.signedIn(request) })],
  ]);
  const placeOf = (path: string): PageRoute | undefined =>
    exact.get(path) ?? (path.startsWith(connectPath) ? link : undefined);

  return {
    owns: (path) => placeOf(path) !== undefined,
    answer: async (request) => {
      const { methods } = placeOf(request.path) ?? link;
      const answer = methods.get(request.method);
      return answer === undefined ? wrongMethod([...methods.keys()].join(', ')) : answer(request);
    },
  };
}

function place(methods: Readonly<Record<string, PageHandler>>): PageRoute {
  return { methods: new Map(Object.entries(methods)) };
}

export function mountConnectPages(ports: ConnectPorts): Mounted {
  return mount(connectPages(ports), (error) => {
    // Only the name: the message may contain what the browser sent.
    ports.warn('a page broke', { error: error instanceof Error ? error.name : typeof error });
  });
}
