/** The target of a request does not exist here, or exists more than once. */
import { INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, rows } from './row.ts';

export const offers = rows(
  { blame: 'client', status: 200, code: INVALID_PARAMS },
  {
    // The target does not exist here.
    method_not_found: {
      code: METHOD_NOT_FOUND,
      message: 'Method not found',
      when: 'No backend behind the endpoint has the capability that the method needs.',
    },
    method_removed: {
      status: 404,
      code: METHOD_NOT_FOUND,
      message: 'Method not found',
      when: 'The revision does not have the method, or no backend behind the endpoint supports it.',
    },
    invalid_params: {
      message: 'Invalid params',
      when: 'A member that the method needs is missing or has the wrong type.',
    },
    fixed_argument: {
      message: 'The gateway sets this argument',
      when: 'An override of the config fixes the argument that `data.argument` names, and the client sent it too, or one that differs from it only in case. The schema that the gateway lists does not have it: leave it out.',
    },
    override_misfit: {
      blame: 'gateway',
      code: INTERNAL,
      message: 'The tool has an override that does not fit it',
      when: 'The config sets arguments of this tool, and the tool does not have them, or not in the form in which the config has them. The tool is not listed, and is not called, until config and tool fit again. The log and `bascule tools` say why.',
    },
    resource_not_found: {
      code: { legacy: RESOURCE_NOT_FOUND, modern: INVALID_PARAMS },
      message: 'Resource not found',
      when: 'No backend behind the endpoint has that resource.',
    },

    // Several backends have the target; or failures of merged lists.
    name_collision: {
      blame: 'gateway',
      message: 'More than one backend has an item of this name',
      when: 'The endpoint does not rename items (`names: never`), and several of its backends have this name; `data.backends` lists them. Set `names: collision` or `always` at the endpoint, or use the endpoints of the single backends.',
    },
    resource_ambiguous: {
      message: 'More than one backend has this resource',
      when: 'The URI matches resources or templates of several backends. `data.uris` lists the URI in forms that include the backend, as `resources/list` does.',
    },
    invalid_cursor: {
      message: 'Invalid cursor',
      when: 'The cursor was modified, belongs to another list, endpoint or principal, or the list has changed since. Read the list from the start.',
    },
    tasks_not_supported: {
      code: METHOD_NOT_FOUND,
      message: 'Tasks are not supported',
      when: 'No backend behind the endpoint runs tasks of 2025-11-25. Lists of tasks are refused everywhere: what a backend lists may belong to other principals.',
    },
    unknown_task: {
      message: 'Unknown task',
      when: 'The id was not given to this principal at this endpoint, or was modified; or the backend knows the task no longer.',
    },
    invalid_request_state: {
      message: 'Invalid requestState',
      when: 'The state was modified, has expired, was already used, or belongs to another request or principal.',
    },
  },
);
