/**
 * Validates the redirect from the authorization server.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-response-validation
 */
import * as oauth from 'oauth4webapi';
import { Failure } from '../../errors/failure.ts';
import { single } from '../../web/request.ts';
import type { Flow } from './consent-store.ts';
import { asClient, asServer, errorCode, tellable } from './token-endpoint.ts';

/**
 * Returns the parameters for the token endpoint, or the failure if consent was refused. Throws `consent_invalid` if the
 * redirect does not belong to the flow: then nothing in it is acted on or shown, not even that it is an error.
 */
export function checkRedirect(flow: Flow, parameters: URLSearchParams): URLSearchParams | Failure {
  if (single(parameters) === undefined) throw invalid('A parameter is repeated');
  const state = parameters.get('state');
  if (state !== flow.state) throw invalid('`state` is not that of this request');
  checkIssuer(flow, parameters.get('iss'));
  try {
    const checked = oauth.validateAuthResponse(asServer(flow.server), asClient(flow.client), parameters, flow.state);
    if (!checked.get('code')) throw invalid('There is no `code`');
    return checked;
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) return refused(parameters, flow);
    throw error instanceof Failure ? error : invalid('The redirect has neither `code` nor `error`');
  }
}

/**
 * RFC 9207, 2.4, by the specification's table. Compared as strings, without normalization. An empty `iss` counts as
 * present.
 */
function checkIssuer({ server }: Flow, iss: string | null): void {
  if (iss === null) {
    if (server.authorization_response_iss_parameter_supported === true) throw invalid('`iss` is missing');
  } else if (iss !== server.issuer) throw invalid('`iss` is not the issuer that was asked');
}

function refused(parameters: URLSearchParams, { verifier }: Flow): Failure {
  const error = errorCode(parameters.get('error'));
  const description = tellable(parameters.get('error_description'), [verifier]);
  const data = { error, ...(description === undefined ? {} : { description }) };
  return new Failure('consent_refused', { data });
}

function invalid(message: string): Failure {
  return new Failure('consent_invalid', { message });
}
