// The typed client of Maestro's API, for browsers and Node. Paths, parameters, bodies and answers have the types of
// schema.d.ts, which is generated from the published OpenAPI document.

import createFetchClient, { type Client, type Middleware } from "openapi-fetch";

import { readLive, type LiveOptions } from "./live.ts";
import type { LiveMessage, paths, Problem } from "./schema.d.ts";

export type * from "./schema.d.ts";
export { type LiveOptions } from "./live.ts";

/** How to reach a server. */
export interface Options {
  /** The address of the server, such as http://127.0.0.1:3000; the page's own if absent. */
  url?: string;
  /** A token, or the secret of a session. Without one, a browser sends the cookie of its login. */
  token?: string;
  /** The name of the program, with its version: the server shows it. */
  program?: string;
  fetch?: typeof globalThis.fetch;
}

/** A refusal of the server, or an answer that is none of its own. */
export class MaestroError extends Error {
  override readonly name = "MaestroError";
  /** The HTTP status. */
  readonly status: number;
  /** What the server said: a code, why, and what to do next. */
  readonly problem: Problem;
  /** When to call again, in seconds, if the server said so. */
  readonly retryAfter: number | undefined;

  constructor(response: Response, problem: Problem) {
    super(`${problem.message}: ${problem.why}; ${problem.next}`);
    this.status = response.status;
    this.problem = problem;
    const after = Number(response.headers.get("Retry-After") ?? NaN);
    this.retryAfter = Number.isNaN(after) ? undefined : after;
  }
}

/** The client: the calls of openapi-fetch, and the live views. */
export interface Maestro extends Client<paths> {
  /**
   * Reads the live views until the signal aborts it. It reconnects by itself and continues after the last message; after
   * a "snapshot" or a "ready" that follows a reconnection, discard what you have. A refusal is thrown.
   */
  live(options?: LiveOptions): AsyncGenerator<LiveMessage, void, undefined>;
}

/** Returns a client. Every call that is refused throws a MaestroError. */
export function connect(options: Options = {}): Maestro {
  const url = (options.url ?? "").replace(/\/+$/, "");
  const headers: Record<string, string> = { "Maestro-Client": options.program ?? "maestro-api" };
  if (options.token !== undefined) {
    headers["Authorization"] = `Bearer ${options.token}`;
  }
  const fetch = options.fetch ?? globalThis.fetch;
  const client = createFetchClient<paths>({ baseUrl: url, headers, fetch: (request) => fetch(request) });
  client.use(refusals);
  return Object.assign(client, {
    live: (live: LiveOptions = {}) =>
      readLive(
        async (query, position, signal) =>
          fetch(`${url}/api/live?${query}`, {
            headers: { ...headers, ...(position === undefined ? {} : { "Last-Event-ID": position }) },
            cache: "no-store",
            signal: signal ?? null,
          }).then(answered),
        live,
      ),
  });
}

const refusals: Middleware = {
  onResponse: ({ response }) => answered(response),
};

/** Returns a successful response, and throws what any other one says. */
async function answered(response: Response): Promise<Response> {
  if (response.ok || response.status === 304) {
    return response;
  }
  const text = await response.text();
  throw new MaestroError(response, problemOf(response, text));
}

function problemOf(response: Response, text: string): Problem {
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null && "code" in problem && "message" in problem) {
      return problem as Problem;
    }
  } catch {
    // not an answer of Maestro
  }
  return {
    error: true,
    code: "HTTP_ERROR",
    message: `The server answered ${response.status}`,
    why: "the answer is not one of Maestro",
    next: "check the address of the server",
  };
}
