import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { connect, MaestroError, type CreateTask, type Maestro, type Task } from "./client.ts";
import { Server } from "./server.ts";

let server: Server;
let user: Maestro;

before(async () => {
  server = await Server.start();
  user = connect({ url: server.url, token: server.token, program: "client-test" });
});

after(() => server?.stop());

/** Returns what a call answered. Refusals were thrown. */
function given<T>(value: T | null | undefined): T {
  assert.ok(value !== undefined && value !== null);
  return value;
}

async function newProject(name: string): Promise<string> {
  const created = await user.POST("/api/commands/project:create", { body: { name } });
  return given(created.data?.event).data.projectId;
}

async function newTask(project: string, title: string): Promise<string> {
  const created = await user.POST("/api/commands/task:create", { body: { project, title } });
  return given(created.data?.event).data.taskId;
}

async function taskOf(id: string): Promise<Task> {
  const { data } = await user.GET("/api/tasks/{id}", { params: { path: { id } } });
  return given(data);
}

test("the published document is served without a token", async () => {
  const { data, response } = await connect({ url: server.url }).GET("/api/openapi.json");
  assert.equal(given(data)["openapi"], "3.1.0");
  assert.match(given(response.headers.get("ETag")), /^"[0-9a-f]+"$/);
});

test("the workflow of document 003 in seven steps", async () => {
  const project = await newProject("Workflow");
  const shows = async (step: string, status: Task["status"], says: Task["sessionStatus"]) => {
    const task = await taskOf(id);
    assert.deepEqual([task.status, task.sessionStatus], [status, says], step);
  };

  const id = await newTask(project, "Implement login");
  await shows("1 created", "todo", undefined);

  const spawned = await user.POST("/api/commands/session:spawn", { body: { project, taskIds: [id] } });
  const session = given(spawned.data?.event).data.sessionId;
  await shows("2 spawned", "in_progress", undefined);

  const worker = connect({ url: server.url, token: given(spawned.data?.token) });
  await worker.POST("/api/commands/session:register", { body: { sessionId: session } });
  await worker.POST("/api/commands/report:progress", { body: { message: "Implementing feature", taskIds: [id] } });
  await shows("3 working", "in_progress", "working");

  await worker.POST("/api/commands/report:blocked", { body: { message: "Need API credentials", taskIds: [id] } });
  await shows("4 blocked", "in_progress", "blocked");
  await assert.rejects(worker.POST("/api/commands/task:complete", { body: { taskId: id } }), (error: unknown) => {
    assert.ok(error instanceof MaestroError);
    assert.deepEqual([error.status, error.problem.code], [403, "NOT_ALLOWED"]);
    assert.notEqual(error.problem.next, "");
    return true;
  });

  await user.POST("/api/commands/session:message", { body: { sessionId: session, text: "They are in the vault" } });
  await shows("5 unblocked by the user, who changes no status", "in_progress", "blocked");
  const mail = await worker.GET("/api/sessions/{id}/mail", { params: { path: { id: session } } });
  assert.equal(given(mail.data).mail[0]?.text, "They are in the vault");

  await worker.POST("/api/commands/report:complete", { body: { message: "All criteria met", taskIds: [id] } });
  await shows("6 reported as completed", "in_progress", "completed");

  await user.POST("/api/commands/task:complete", { body: { taskId: id } });
  await shows("7 completed by the user", "completed", "completed");
});

test("a retry with the same key runs once", async () => {
  const call = () =>
    user.POST("/api/commands/project:create", {
      body: { name: "Once" },
      params: { header: { "Idempotency-Key": "client-test-1" } },
    });
  const [first, second] = [await call(), await call()];
  assert.equal(first.data?.sequence, second.data?.sequence);
  assert.equal(second.response.headers.get("Maestro-Retried"), "true");
});

test("reads come in pages, and of a moment", async () => {
  const project = await newProject("Pages");
  const id = await newTask(project, "One");
  const moment = given((await user.GET("/api/audit/head")).data).sequence;
  await user.POST("/api/commands/task:update", { body: { taskId: id, title: "Two" } });
  const before = await user.GET("/api/tasks/{id}", { params: { path: { id }, query: { at: String(moment) } } });
  assert.equal(given(before.data).title, "One");
  await newTask(project, "Three");
  const query = { projectId: project, limit: 1 };
  const page = await user.GET("/api/tasks", { params: { query } });
  assert.deepEqual(given(page.data).map((task) => task.title), ["Two"]);
  const cursor = given(page.response.headers.get("Maestro-Next"));
  const next = await user.GET("/api/tasks", { params: { query: { ...query, cursor } } });
  assert.deepEqual(given(next.data).map((task) => task.title), ["Three"]);
});

test("the live views continue after a crash of the server", async () => {
  const project = await newProject("Live");
  const ended = new AbortController();
  const titles: string[] = [];
  let ready = 0;
  let last = 0;
  const waiting: { title: string; seen: () => void }[] = [];
  const shown = (title: string) => new Promise<void>((seen) => waiting.push({ title, seen }));
  const first = shown("Before");
  const reading = (async () => {
    for await (const message of user.live({ project, signal: ended.signal, retry: 20 })) {
      if (message.event === "ready") {
        assert.equal(++ready, 1, "it continues, and gets no second snapshot");
        await newTask(project, "Before");
      }
      if (message.event !== "frame") {
        continue;
      }
      assert.ok(message.data.seq > last, `frame ${message.data.seq} after ${last}`);
      last = message.data.seq;
      for (const change of message.data.changes) {
        if (change.kind === "task" && change.value !== null) {
          const { title } = change.value; // typed by the kind
          titles.push(title);
          waiting.filter((one) => one.title === title).forEach((one) => one.seen());
        }
      }
    }
  })();
  await Promise.race([first, reading]);
  const second = shown("After");
  await server.crash();
  await newTask(project, "After");
  await Promise.race([second, reading]);
  ended.abort();
  await reading;
  assert.deepEqual(titles, ["Before", "After"]);
});

test("the live views end on request, and a refusal is thrown", async () => {
  let events: string[] = [];
  for await (const message of user.live({ follow: false, after: "0" })) {
    events.push(message.event);
  }
  assert.ok(events.includes("frame"));
  await assert.rejects(async () => {
    for await (const message of connect({ url: server.url, token: "wrong" }).live()) {
      assert.fail(message.event);
    }
  }, (error: unknown) => error instanceof MaestroError && error.status === 401);
});

/** Never runs: the compiler refuses what the document does not allow. */
export async function refusedByTheCompiler(project: string): Promise<void> {
  // @ts-expect-error an unknown command
  await user.POST("/api/commands/task:paint", { body: {} });
  // @ts-expect-error a body without its title
  await user.POST("/api/commands/task:create", { body: { project } });
  // @ts-expect-error a member that the command does not have
  const body: CreateTask = { project, title: "T", colour: "red" };
  await user.POST("/api/commands/task:create", { body });
  // @ts-expect-error a value that is not one of those that it may have
  await user.POST("/api/commands/task:create", { body: { project, title: "T", priority: "soon" } });
  // @ts-expect-error a member that no task has
  void (await taskOf("t")).colour;
}
