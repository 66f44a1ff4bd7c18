// A real server in an empty home, for the tests.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** A running server. */
export class Server {
  readonly home: string;
  url = "";
  token = "";
  private process: ChildProcess | undefined;

  private constructor(home: string) {
    this.home = home;
  }

  /** Starts the binary that MAESTRO_BINARY names. */
  static async start(): Promise<Server> {
    const server = new Server(join(await mkdtemp(join(tmpdir(), "maestro-client-")), "home"));
    await server.run("127.0.0.1:0");
    server.token = (await readFile(join(server.home, "admin.token"), "utf8")).trim();
    return server;
  }

  /** Runs a server on the home until it listens. */
  private run(listen: string): Promise<void> {
    const binary = resolve(process.env["MAESTRO_BINARY"] ?? "../../bin/maestro");
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MAESTRO_")));
    const server = spawn(binary, ["serve", "--no-runner", "--listen", listen], {
      env: { ...env, MAESTRO_HOME: this.home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process = server;
    return new Promise((listens, fails) => {
      let said = "";
      for (const stream of [server.stdout, server.stderr]) {
        createInterface(stream).on("line", (line) => {
          said += line + "\n";
          const url = /listening on (http:\/\/\S+)/.exec(line)?.[1];
          if (url !== undefined) {
            this.url = url;
            listens();
          }
        });
      }
      server.once("error", fails);
      server.once("exit", (code) => fails(new Error(`the server ended with ${code}:\n${said}`)));
    });
  }

  /** Kills the server as a crash would, and starts another at the same address. */
  async crash(): Promise<void> {
    await this.end("SIGKILL");
    await this.run(new URL(this.url).host);
  }

  async stop(): Promise<void> {
    await this.end("SIGTERM");
    await rm(join(this.home, ".."), { recursive: true, force: true });
  }

  private end(signal: NodeJS.Signals): Promise<void> {
    const server = this.process;
    this.process = undefined;
    return new Promise((ended) => {
      if (server === undefined || server.exitCode !== null) {
        ended();
        return;
      }
      server.once("exit", () => ended());
      server.kill(signal);
    });
  }
}
