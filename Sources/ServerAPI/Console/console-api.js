/**
 * The server API as the console uses it: one key, that lives in this object and nowhere else, and the knowledge of what its
 * role may do.
 */
import { words } from "/console/console-words.js";

const TIMEOUT_MS = 15_000;
/** How often a call with an Idempotency-Key is made when no answer comes: a repeat does nothing twice. */
const TRIES = 3;

/** A refusal of the API, or no answer at all (`status` 0). */
export class ApiError extends Error {
  constructor(status, { code = 0, name = "", message = "", retryAfterMs, field } = {}) {
    super(message);
    Object.assign(this, { status, code, refusal: name, retryAfterMs, field });
  }

  get isUnknown() { return this.status === 0; }
  /** Nobody waits for the answer any more. */
  isAbandoned = false;

  /** The meaning of the refusal, and the server's own sentence. */
  get sentence() {
    const code = String(this.code || this.status);
    const key = words.has(`api.${code}`) ? `api.${code}` : "api.other";
    const meaning = words.say(key, { code });
    const wait = this.retryAfterMs ? ` ${words.say("api.wait", { span: words.span(this.retryAfterMs) })}` : "";
    return this.message ? `${meaning}${wait} (${this.message})` : `${meaning}${wait}`;
  }
}

/** Random characters for an Idempotency-Key. `crypto.randomUUID` exists in secure contexts only. */
function freshKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The claims of a token, for showing only: the server decides. */
function claimsOf(key) {
  try {
    const part = key.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (letter) => letter.charCodeAt(0))));
  } catch {
    return null;
  }
}

export const idPattern = "[A-Za-z0-9_.@:#\\|+~!$\\-]{1,64}";
const isId = new RegExp(`^(?!\\.{1,2}$)${idPattern}$`);
export function isValidId(text) { return isId.test(text); }

export class Api {
  #key;
  #document = null;
  #refused = new Map();

  /** ADMIN, OPERATE, MODERATE or READ. */
  role = "";
  /** With one, this key is for rooms only whose IDs begin so. */
  prefix = "";
  /** Called when the server no longer takes the key. */
  onRefused = () => {};
  /** Since when the node answers nothing. */
  silentSince = undefined;
  /** Called when the silence begins and when it ends. */
  onSilence = () => {};
  #heardAt = 0;

  constructor(key) {
    this.#key = key;
    const claims = claimsOf(key);
    this.name = typeof claims?.sub === "string" ? claims.sub : "";
    this.expiresAt = typeof claims?.exp === "number" ? claims.exp * 1000 : undefined;
  }

  /** Signs in: throws when the key is refused, and finds out what its role may. */
  async open() {
    // The browser refuses to send anything else, and that is no silence of the node.
    if (!/^[\x21-\x7e]*$/.test(this.#key)) throw new ApiError(401);
    try {
      this.#document = await this.call("GET /v1/openapi.json");
    } catch (error) {
      if (error.code !== 403) throw error;
    }
    // There is no call that tells the role. A call that only ADMIN may make is refused with the role's name.
    this.role = await this.#roleByRefusal();
    try {
      if (!this.#document) await this.call("GET /v1/rooms", {}, { query: { limit: 1 } });
    } catch (error) {
      this.prefix = /begin with (\S+)$/.exec(error.message)?.[1] ?? "";
    }
    this.#refused.clear();
  }

  async #roleByRefusal() {
    try {
      await this.call("GET /v1/webhook");
    } catch (error) {
      // A node that gave no answer has told nothing of the role.
      if (error.code === 401 || error.isUnknown || error.status === 429 || error.status >= 500) throw error;
      if (error.code === 403) {
        const role = /the role (ADMIN|OPERATE|MODERATE|READ)\b/.exec(error.message)?.[1];
        if (role) return role;
        if (/begin with/.test(error.message)) return "ADMIN";
        return "READ";
      }
    }
    // An answer of any other kind comes after the role was found good enough.
    return "ADMIN";
  }

  close() {
    this.#key = "";
    this.onRefused = () => {};
    this.onSilence = () => {};
  }

  /** Whether this node knows the call. Without its document nobody can tell, so it is tried. */
  knows(call) {
    if (!this.#document) return true;
    const [method, path] = call.split(" ");
    return Boolean(this.#document.paths[path]?.[method.toLowerCase()]);
  }

  /** "" when the role may make the call, else the sentence why it may not. */
  why(call) {
    const [method, path] = call.split(" ");
    if (this.prefix && !path.startsWith("/v1/rooms/{room}")) return words.say("api.prefix", { prefix: this.prefix });
    if (!this.knows(call)) return words.say("api.older");
    const roles = this.#document?.paths[path][method.toLowerCase()]["x-roles"] ?? this.#guess(method, path);
    if (roles.includes(this.role) && !this.#refused.has(call)) return "";
    return words.say("api.role", { role: this.role, roles: words.list(roles.filter((role) => role !== this.role)) });
  }

  may(call) { return this.why(call) === ""; }

  /** The roles of a room's calls, for a key with a prefix: it may not read the document. */
  #guess(method, path) {
    if (method === "GET") {
      return /^\/v1\/rooms\/\{room\}(\/explain|\/address)?$/.test(path)
        ? ["ADMIN", "OPERATE", "MODERATE", "READ"] : ["ADMIN", "MODERATE", "READ"];
    }
    return method === "DELETE" && path === "/v1/rooms/{room}" || path.endsWith("/undelete") ? ["ADMIN"] : ["ADMIN", "MODERATE"];
  }

  /** The values that a field may have, as this node's document lists them. */
  choices(schema, field, otherwise) {
    const found = this.#document?.components.schemas[schema]?.properties[field];
    return found?.enum ?? found?.items?.enum ?? otherwise;
  }

  /**
   * Makes a call that is named as in the OpenAPI document: `call("POST /v1/rooms/{room}/close", { room })`. Each call that
   * changes something gets a key of its own, with which it is repeated when no answer comes.
   */
  async call(name, parameters = {}, { query = {}, body, signal, timeoutMs = TIMEOUT_MS } = {}) {
    const [method, template] = name.split(" ");
    const path = template.replace(/\{(\w+)\}/g, (_, part) => {
      const value = String(parameters[part] ?? "");
      if (value === "" || value === "." || value === "..") throw new ApiError(400, { code: 414, message: part });
      return encodeURIComponent(value);
    });
    const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== ""));
    const address = asked.size > 0 ? `${path}?${asked}` : path;
    const headers = { Authorization: `Bearer ${this.#key}` };
    // A token is made anew each time, so that call has no such key.
    const isRepeatable = method === "GET" || !template.endsWith("/token");
    if (method !== "GET" && isRepeatable) headers["Idempotency-Key"] = freshKey();
    if (body !== undefined) headers["Content-Type"] = "application/json";
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(name, address, { method, headers, body: body && JSON.stringify(body) }, signal, timeoutMs);
      } catch (error) {
        if (!error.isUnknown || method === "GET" || !isRepeatable || attempt === TRIES || signal?.aborted) throw error;
      }
    }
  }

  async #once(name, address, request, signal, timeoutMs) {
    const began = Date.now();
    const ends = new AbortController();
    const stop = () => ends.abort();
    const timer = setTimeout(stop, timeoutMs);
    signal?.addEventListener("abort", stop);
    try {
      const answer = await fetch(address, {
        ...request, signal: ends.signal, cache: "no-store", credentials: "omit", redirect: "error",
        referrerPolicy: "no-referrer",
      });
      const text = await answer.text();
      let content = {};
      try { content = text ? JSON.parse(text) : {}; } catch { /* A proxy answers with a page of its own. */ }
      if (answer.status === 502 && !content.error) this.#missed(began); else this.#heard();
      if (answer.ok) return content;
      const error = new ApiError(answer.status, content.error);
      if (answer.status === 401) this.onRefused(error);
      if (error.code === 403 && !this.#document) this.#refused.set(name, true);
      throw error;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      const silence = new ApiError(0, { message: ends.signal.aborted && !signal?.aborted ? `${timeoutMs / 1000} s` : "" });
      silence.isAbandoned = signal?.aborted ?? false;
      if (!silence.isAbandoned) this.#missed(began);
      throw silence;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  #heard() {
    this.#heardAt = Date.now();
    if (this.silentSince === undefined) return;
    this.silentSince = undefined;
    this.onSilence();
  }

  /** One slow call is no silence: another that was answered meanwhile shows that the node lives. */
  #missed(began) {
    if (this.silentSince !== undefined || this.#heardAt >= began) return;
    this.silentSince = began;
    this.onSilence();
  }
}

/**
 * Does the work now and again, `milliseconds` after it has ended, until the signal. Nothing is done while nobody sees the
 * tab, and at once when it is seen again.
 */
export function every(milliseconds, signal, work) {
  let timer, isRunning = false;
  const run = async () => {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || isRunning) return;
    isRunning = true;
    try { await work(); } finally {
      isRunning = false;
      if (!signal.aborted && !document.hidden) timer = setTimeout(run, milliseconds);
    }
  };
  document.addEventListener("visibilitychange", run, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
}

words.add({
  en: {
    "api.0": "No answer from this node.",
    "api.400": "The request was not understood.",
    "api.401": "The key or token is not accepted.",
    "api.403": "Not allowed.",
    "api.404": "Not found.",
    "api.409": "In conflict with what is there.",
    "api.413": "Too long or too large.",
    "api.414": "A value is not valid.",
    "api.416": "Too often.",
    "api.500": "The node failed.",
    "api.502": "No answer from this node.",
    "api.503": "Not possible right now.",
    "api.13002": "The room is closed.",
    "api.13009": "Refused by moderation.",
    "api.other": "Refused with code {code}.",
    "api.wait": "Possible again in {span}.",
    "api.role": "Your role {role} may not do this, only {roles}.",
    "api.prefix": "This key is only for rooms whose IDs begin with {prefix}.",
    "api.older": "This node's version has no such call.",
  },
  zh: {
    "api.0": "该节点没有应答。",
    "api.400": "请求无法理解。",
    "api.401": "密钥或令牌不被接受。",
    "api.403": "不允许。",
    "api.404": "不存在。",
    "api.409": "与现有状态冲突。",
    "api.413": "太长或太大。",
    "api.414": "某个值无效。",
    "api.416": "过于频繁。",
    "api.500": "节点出错。",
    "api.502": "该节点没有应答。",
    "api.503": "暂时无法执行。",
    "api.13002": "房间已关闭。",
    "api.13009": "被内容审核拒绝。",
    "api.other": "被拒绝，代码 {code}。",
    "api.wait": "{span}后可再试。",
    "api.role": "您的角色 {role} 无权执行此操作，仅限 {roles}。",
    "api.prefix": "此密钥只能用于 ID 以 {prefix} 开头的房间。",
    "api.older": "该节点的版本没有此接口。",
  },
});
