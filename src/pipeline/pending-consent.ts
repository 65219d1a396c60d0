/**
 * Announces a consent that the principal has still to give, at backends that let everyone discover them and demand
 * credentials for calls alone. A backend that refuses the discovery itself has it in its state (pipeline/merged.ts).
 */
import { awaitingConsent } from '../catalog/discovery.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import { withoutHeldInstructions } from './interceptors/pin-filter.ts';
import type { SharedServices } from './services.ts';

/** The discovery of an endpoint's only backend, with the consent page in its instructions where one is open. */
export async function withConsentPage(
  { currentGeneration }: Pick<SharedServices, 'currentGeneration'>,
  backend: string,
  principal: Principal,
  discovery: Discovery,
): Promise<Discovery> {
  const { pins } = currentGeneration.now;
  const shown = withoutHeldInstructions(pins, backend, discovery);
  const url = await currentGeneration.now.consenting?.pendingPage(backend, principal);
  return url === undefined ? shown : awaitingConsent(shown, url);
}
