import assert from "node:assert/strict";
import { test } from "node:test";

import { MaestroError } from "./client.ts";
import { readLive } from "./live.ts";
import type { LiveMessage, Problem } from "./schema.d.ts";

const problem: Problem = { error: true, code: "TEST", message: "No", why: "a test", next: "nothing" };

/** Returns a refusal with a status. */
function refusal(status: number, headers: Record<string, string> = {}): MaestroError {
  return new MaestroError(new Response(null, { status, headers }), problem);
}

/** Reads from a server that first throws, and then shows an event. It returns what it read, and how long that took. */
async function readAfter(...errors: unknown[]): Promise<{ messages: LiveMessage[]; took: number }> {
  const began = performance.now();
  const messages: LiveMessage[] = [];
  const open = async () => {
    const error = errors.shift();
    if (error !== undefined) {
      throw error;
    }
    return new Response('event: ready\nid: 1\ndata: {"seq":1}\n\n');
  };
  for await (const message of readLive(open, { follow: false, retry: 1 })) {
    messages.push(message);
  }
  return { messages, took: performance.now() - began };
}

test("what may pass by itself is tried again", async () => {
  const { messages } = await readAfter(...[429, 502, 503, 504].map((status) => refusal(status)), new TypeError("no"));
  assert.equal(messages.length, 1);
});

test("any other refusal is thrown", async () => {
  for (const status of [400, 401, 403, 404, 500, 501]) {
    await assert.rejects(readAfter(refusal(status)), (error: unknown) => (error as MaestroError).status === status);
  }
  await assert.rejects(readAfter(new SyntaxError("not JSON")), SyntaxError);
});

test("Retry-After is waited for", async () => {
  const { messages, took } = await readAfter(refusal(503, { "Retry-After": "1" }));
  assert.equal(messages.length, 1);
  assert.ok(took > 950, `it took ${took} ms`);
});
