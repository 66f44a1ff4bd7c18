// Reading server-sent events with fetch: EventSource sends no Authorization header.

import type { LiveMessage, paths } from "./schema.d.ts";

type Query = NonNullable<paths["/api/live"]["get"]["parameters"]["query"]>;

/** What to read, and from where. */
export interface LiveOptions extends Omit<Query, "follow"> {
  /** Ends the reading. */
  signal?: AbortSignal;
  /** false: end once everything up to now is read. */
  follow?: boolean;
  /** How long to wait before the first reconnection, in milliseconds; later ones wait longer, at most 30 times that. */
  retry?: number;
}

type Open = (query: URLSearchParams, position: string | undefined, signal: AbortSignal | undefined) => Promise<Response>;

/** Yields messages over as many connections as it takes. */
export async function* readLive(open: Open, options: LiveOptions): AsyncGenerator<LiveMessage, void, undefined> {
  const { signal, follow = true, retry = 1000, ...filter } = options;
  let position: string | undefined;
  let failures = 0;
  while (!signal?.aborted) {
    let after = 0; // when to call again, in seconds, as the server said
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) {
      if (value !== undefined && !(name === "after" && position !== undefined)) {
        query.set(name, value);
      }
    }
    if (!follow) {
      query.set("follow", "false");
    }
    try {
      const response = await open(query, position, signal);
      for await (const message of messagesOf(response)) {
        failures = 0;
        position = message.id ?? position;
        if (message.event !== undefined) {
          yield { event: message.event, data: JSON.parse(message.data), ...(message.id && { id: message.id }) } as LiveMessage;
        }
      }
      if (!follow) {
        return;
      }
    } catch (error) {
      if (signal?.aborted) {
        return;
      }
      if (!passes(error)) {
        throw error;
      }
      after = fieldOf(error, "retryAfter") ?? 0;
    }
    failures++;
    await pause(Math.max(Math.min(retry * 2 ** (failures - 1), 30 * retry), 1000 * Math.min(after, longestAfter)), signal);
  }
}

/** How long a Retry-After is believed, in seconds. */
const longestAfter = 300;

/**
 * Reports whether an error may pass by itself: the connection broke, the server is busy or stopping, or a proxy cannot
 * reach it.
 */
function passes(error: unknown): boolean {
  const status = fieldOf(error, "status");
  return status === undefined ? error instanceof TypeError : [429, 502, 503, 504].includes(status);
}

/** Returns a number that an error has. */
function fieldOf(error: unknown, name: "status" | "retryAfter"): number | undefined {
  const value: unknown = typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === "number" ? value : undefined;
}

interface Message {
  event?: string;
  id?: string;
  data: string;
}

/** Parses the messages of a response, as the HTML standard says. An incomplete one at the end is no message. */
export async function* messagesOf(response: Response): AsyncGenerator<Message, void, undefined> {
  if (response.body === null) {
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let message: Message = { data: "" };
  let rest = "";
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "" || line === "\r") {
          if (message.event !== undefined || message.id !== undefined) {
            yield message;
          }
          message = { data: "" };
          continue;
        }
        const [, name, value] = /^([^:]*):? ?(.*?)\r?$/.exec(line) ?? [];
        if (name === "event" || name === "id") {
          message[name] = value ?? "";
        } else if (name === "data") {
          message.data += (message.data === "" ? "" : "\n") + (value ?? "");
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Waits, or less if the signal aborts it. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done);
  });
}
