/** The target of a request does not exist here, or exists more than once. */
import { type FailureRow, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, row } from './row.ts';

export const offers = {
  // The target does not exist here.
  method_not_found: row(
    'client',
    200,
    METHOD_NOT_FOUND,
    'Method not found',
    'No backend behind the endpoint has the capability that the method needs.',
  ),
  method_removed: row(
    'client',
    404,
    METHOD_NOT_FOUND,
    'Method not found',
    'A modern request for a method that the revision does not have, or that nobody behind the endpoint offers.',
  ),
  invalid_params: row(
    'client',
    200,
    INVALID_PARAMS,
    'Invalid params',
    'A member that the method needs is missing or has the wrong type.',
  ),
  resource_not_found: row(
    'client',
    200,
    { legacy: RESOURCE_NOT_FOUND, modern: INVALID_PARAMS },
    'Resource not found',
    'No backend behind the endpoint has that resource.',
  ),

  // Several backends have the target; or failures of merged lists.
  name_collision: row(
    'gateway',
    200,
    INVALID_PARAMS,
    'More than one backend has something of this name',
    'The endpoint renames nothing (`names: never`) and several of its backends have the name; `data.backends` lists them. Choose other names for the endpoint, or use the backends’ own addresses.',
  ),
  resource_ambiguous: row(
    'client',
    200,
    INVALID_PARAMS,
    'More than one backend has this resource',
    'The URI fits resources or templates of several backends. `data.uris` lists it in forms that name the backend, as `resources/list` does.',
  ),
  invalid_cursor: row(
    'client',
    200,
    INVALID_PARAMS,
    'Invalid cursor',
    'The cursor was changed, is of another list, endpoint or principal, or the list has changed since. Begin the list again.',
  ),
  tasks_not_supported: row(
    'client',
    200,
    METHOD_NOT_FOUND,
    'Tasks are not supported',
    'Tasks are refused by name until they are supported as a whole.',
  ),
  invalid_request_state: row(
    'client',
    200,
    INVALID_PARAMS,
    'Invalid requestState',
    'The state was changed, has expired, was used already, or belongs to another request or principal.',
  ),
} as const satisfies Record<string, FailureRow>;
