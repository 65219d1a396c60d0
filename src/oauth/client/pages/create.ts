/** Routes of the pages for a person's consent towards a backend. */

import { CookieJar } from '../../../web/cookies.ts';
import { type Mounted, type MountPorts, mount, type PageSet } from '../../../web/mount.ts';
import type { PageRequest, PageResponse } from '../../../web/request.ts';
import { FlowCookies } from '../../flow-cookies.ts';
import { accountsPath, callbackPath, connectPath, signedInPath } from '../settings.ts';
import { AccountListPages } from './account-list.ts';
import { Browsers } from './browser.ts';
import { CallbackPages } from './callback.ts';
import { ConnectPages } from './connect.ts';
import { wrongMethod } from './outcome-views.ts';
import type { ConnectPorts } from './ports.ts';

type PageHandler = (request: PageRequest) => Promise<PageResponse>;

/** By method. HEAD is allowed only where GET changes nothing. */
type PageHandlers = ReadonlyMap<string, PageHandler>;

export function connectPages(ports: ConnectPorts): PageSet {
  const jar = new CookieJar(ports.publicUrl);
  const flowCookies = new FlowCookies(jar, ports.seal, ports.now);
  const browsers = new Browsers(jar, ports.random);
  const connect = new ConnectPages(ports, browsers, flowCookies);
  const accounts = new AccountListPages(ports, browsers);
  const callback = new CallbackPages(ports, flowCookies);

  const show: PageHandler = (request) => connect.show(request);
  const list: PageHandler = (request) => accounts.show(request);
  const link: PageHandlers = new Map([
    ['GET', show],
    ['HEAD', show],
    ['POST', (request) => connect.take(request)],
  ]);
  const exact: ReadonlyMap<string, PageHandlers> = new Map([
    [
      accountsPath,
      new Map([
        ['GET', list],
        ['HEAD', list],
        ['POST', (request) => accounts.take(request)],
      ]),
    ],
    [callbackPath, new Map([['GET', (request) => callback.consented(request)]])],
    [signedInPath, new Map([['GET', (request) => callback.signedIn(request)]])],
  ]);

  return {
    owns: (path) => exact.has(path) || path.startsWith(connectPath),
    answer: async (request) => {
      const handlers = exact.get(request.path) ?? link;
      const answer = handlers.get(request.method);
      return answer === undefined ? wrongMethod([...handlers.keys()].join(', ')) : answer(request);
    },
  };
}

export function mountConnectPages(ports: ConnectPorts, { clientAddress }: Pick<MountPorts, 'clientAddress'>): Mounted {
  return mount(connectPages(ports), {
    clientAddress,
    broken: (error) => {
      // Only the name: the message may contain what the browser sent.
      ports.warn('a consent page failed', { error: error instanceof Error ? error.name : typeof error });
    },
  });
}
