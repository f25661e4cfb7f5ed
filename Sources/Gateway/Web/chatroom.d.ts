// The types of chatroom.js. Names, fields and codes are those of docs/PROTOCOL.md; limits in comments count UTF-8 bytes.

// Errors

/** An error of the server (PROTOCOL.md, "Errors"). Go by `code`; `message` is for people and may change. */
export interface Refusal {
  code: RefusalCode | (number & {});
  name: string;
  message: string;
  /** On 416, 503, 13008, a temporary 13004, and on 403 and 13003 that have an end. */
  retryAfterMs?: number;
  /** The wrong field, with dots inside: `media.size`. */
  field?: string;
}

export type RefusalCode =
  | 400 | 401 | 403 | 404 | 409 | 413 | 414 | 416 | 422 | 500 | 503 | 507
  | 13002 | 13003 | 13004 | 13006 | 13007 | 13008 | 13009;

/** Why a call failed, for programs. Only `refused` has a `refusal`. */
export type ErrorCode =
  | "refused" | "notConnected" | "closed" | "notInRoom" | "kicked" | "connectionFailed" | "connectionLost" | "timedOut"
  | "outcomeUnknown" | "tooManyPending" | "tokenUnavailable" | "noAddress" | "noTransport" | "unauthorized"
  | "forcedOffline" | "takenOver" | "protocolViolation" | "cancelled";

export class ChatroomError extends Error {
  constructor(code: ErrorCode, message: string, refusal?: Refusal);
  static of(refusal: Refusal): ChatroomError;
  readonly name: "ChatroomError";
  readonly code: ErrorCode;
  readonly refusal?: Refusal;
}

// People and rooms

export type Role = "CREATOR" | "MANAGER" | "NORMAL" | "RESTRICTED" | "GUEST" | "ANONYMOUS";

export interface Person {
  user: string;
  nick: string;
}

export interface Sender extends Person {
  avatar: string;
  ext: string;
  role: Role;
}

export interface Member extends Person {
  avatar: string;
  ext: string;
  role: Role;
  /** Mutes and the blacklist are shown to managers and to oneself; to others they are false and 0. */
  muted: boolean;
  tempMuted: boolean;
  /** How much of the temporary mute is left. */
  tempMuteSeconds: number;
  blacklisted: boolean;
  online: boolean;
  /** In listings and in the answer to `enter`. */
  enteredAt?: number;
  /** Until when a kick keeps the user out; in the listing BANNED only. */
  banEndsAt?: number;
}

export type Entry = "ANYONE" | "USERS" | "INVITED";
export type QueueLevel = "ANY" | "OWNER" | "MANAGER";
export type EnterExitNotify = "ALL" | "FIXED_ONLY" | "NONE";

export interface RoomInfo {
  id: string;
  name: string;
  announcement: string;
  creator: string;
  ext: string;
  broadcastUrl: string;
  entry: Entry;
  queueLevel: QueueLevel;
  enterExitNotify: EnterExitNotify;
  slowModeSeconds: number;
  viewerBudget?: number;
  /** HIGH messages a second; beyond that they count as NORMAL. */
  highPerSecond?: number;
  /** How many transient elements a user may own; 0: any number. */
  seatsPerUser?: number;
  historyDays?: number;
  muted: boolean;
  closed: boolean;
  /** Everybody who is here: oneself, anonymous members, robots. */
  online: number;
  createdAt: number;
  /** The latest last; absent from a node of the version before. Take those away that a 323 names. */
  pinned?: PinnedMessage[];
}

/** A member of the queue. */
export interface QueueElement {
  key: string;
  value: string;
  owner: string;
  /** Goes when its owner has gone. */
  transient: boolean;
  version: number;
  /** Only managers change it. */
  locked?: boolean;
  /** The owner is away, and the grace runs. */
  held?: boolean;
}

// Messages

export type Priority = "LOW" | "NORMAL" | "HIGH";

export interface Media {
  url: string;
  name: string;
  size: number;
  contentType: string;
  width?: number;
  height?: number;
  durationSeconds?: number;
  thumbnail?: string;
  /** Content that the cluster stores: `Room.mediaUrl` tells where it can be read now. */
  id?: string;
  thumbnailId?: string;
}

/** What a message that is sent says of its media: that of elsewhere, or the `mediaId` of `Room.upload`. */
export type MediaDraft =
  | Media
  | { id: string; width?: number; height?: number; durationSeconds?: number; thumbnail?: string | { id: string } };

export interface UploadOptions {
  kind?: "IMAGE" | "AUDIO" | "VIDEO" | "FILE" | "AVATAR";
  name?: string;
  contentType?: string;
  /** In 64 hexadecimal digits of lower case: other bytes are refused. */
  sha256?: string;
  /** Outside of browsers once, at the end. */
  onProgress?: (sent: number, all: number) => void;
  signal?: AbortSignal;
}

/** The bodies that a message may have, told apart by `type`. */
export type TextBody = { type: "TEXT" | "TIP"; text: string };
/** `payload` is base64 with padding. */
export type CommandBody = { type: "COMMAND"; payload: string };
export type MediaBody = { type: "IMAGE" | "AUDIO" | "VIDEO" | "FILE"; media: Media };
export type LocationBody = { type: "LOCATION"; latitude: number; longitude: number; title: string };
export type CustomBody = { type: "CUSTOM"; content: string; subtype: number; searchable?: string };
export type CombineBody = { type: "COMBINE"; title: string; summary: string; messageIds: string[] };
export type Body = TextBody | CommandBody | MediaBody | LocationBody | CustomBody | CombineBody;
export type MessageType = Body["type"];

/** What every message has. */
interface Common {
  messageId: string;
  time: number;
  clientId?: string;
  /** Absent: the system. */
  from?: Sender;
  /** Absent: NORMAL. */
  priority?: Priority;
  mentions?: string[];
  mentionAll?: boolean;
  to?: string[];
  ext?: string;
  /** Of a reply: the message that it answers. */
  replyTo?: ReplyReference;
  /** When it was amended last. */
  editedAt?: number;
}

/** What a reply says of the message that it answers. Take `excerpt` away when a 323 names that message. */
export interface ReplyReference {
  messageId: string;
  seq: number;
  /** Absent: the system. */
  user?: string;
  nick: string;
  /** At most 256 bytes; absent where the message is recalled. */
  excerpt?: string;
}

/** A poll. The counts of an open one also come by `tallies`, as `poll:ID:place`. */
export interface Poll {
  poll: string;
  title: string;
  options: string[];
  counts: number[];
  closesAt: number;
  mayChange: boolean;
  closed: boolean;
}

/** A counter of the room. */
export interface Tally {
  key: string;
  total: number;
  closed: boolean;
  /** SERVER: only the app's server adds to it. */
  by?: "SERVER";
}

/** A message that the room has pinned. */
export interface PinnedMessage {
  messageId: string;
  seq: number;
}

/** The place of a message in its room: a kept one has a `seq`, an unkept one stands behind a `seq`. */
export type Kept = { room: string; seq: number; after?: undefined };
export type Unkept = { room: string; seq?: undefined; after: number };
export type Place = Kept | Unkept;

/** A message from a person, or from the app's server in the name of one. */
export type ChatMessage = Common & Place & Body & { recalled?: undefined };

/** A message that was recalled: it stays in its place, without its body. */
export type RecalledMessage = Common & Kept & { type: string; recalled: true };

interface Notice<Event extends number, Data> {
  type: "NOTIFICATION";
  event: Event;
  data: Data;
  /** Absent: the system. */
  operator?: Person;
  targets: Person[];
  notifyExt?: string;
}

type Nothing = Record<string, never>;
export type RoomChanges = {
  name?: string;
  announcement?: string;
  ext?: string;
  broadcastUrl?: string;
  queueLevel?: QueueLevel;
  slowModeSeconds?: number;
  enterExitNotify?: EnterExitNotify;
};
/** `text` of TEXT and TIP, `content` of CUSTOM, `ext` of any. */
export type MessageChanges = { text?: string; content?: string; ext?: string };
export type MemberChanges = { nick?: string; avatar?: string; ext?: string };
export type QueueChange =
  | ({ change: "OFFER" | "UPDATE" | "POLL" } & QueueElement)
  | { change: "DROP" };
export type QueueBatch = { change: "PARTCLEAR" | "BATCH_UPDATE"; elements: QueueElement[] };
export interface Digest {
  entered: number;
  exited: number;
  online: number;
  /** At most five. */
  members: { user: string; nick: string; avatar?: string; ext?: string; notifyExt?: string }[];
}

/** What the room itself tells, by `event` (PROTOCOL.md, "Notifications"). */
export type NotificationBody =
  | Notice<301, { avatar: string; ext: string; role: Role; online: number }>
  | Notice<302, { online: number }>
  | Notice<303 | 304 | 305 | 306 | 307 | 308 | 309 | 310 | 311 | 313 | 315 | 318 | 319, Nothing>
  /** `set` has the changed texts; what only the server API sets may be among them. */
  | Notice<312, { set: RoomChanges & { entry?: Entry; viewerBudget?: number; highPerSecond?: number; seatsPerUser?: number; historyDays?: number } }>
  | Notice<314, { seconds: number }>
  | Notice<316, { set: MemberChanges }>
  | Notice<317, QueueChange>
  | Notice<320, QueueBatch>
  | Notice<323, { messageIds: string[] }>
  | Notice<350, Digest>
  /** Lay `set` over the message, unless its `editedAt` is later. */
  | Notice<360, { messageId: string; seq: number; set: MessageChanges; editedAt: number }>
  /** All that are pinned now. */
  | Notice<361, { pinned: PinnedMessage[] }>
  /** Opened and closed, this with the final counts. */
  | Notice<362 | 363, Omit<Poll, "closed">>;
export type NotificationEvent = NotificationBody["event"];
export type NotificationMessage = Common & Place & NotificationBody & { recalled?: undefined };

/**
 * A message of a room. Look at `recalled` first, then at `type`, and for a NOTIFICATION at `event`:
 *
 *     if (message.recalled) return markAsRecalled(message);
 *     switch (message.type) { case "TEXT": return show(message.text); … }
 */
export type Message = ChatMessage | RecalledMessage | NotificationMessage;

/** A message that this version does not know, in its place. */
export type UnknownMessage = Common & Partial<Place> & { type: string; event?: number; [field: string]: unknown };

/** What reaches a session outside of rooms, at most once. */
export type AppMessage = Common & Body & { room?: undefined; seq?: undefined; after?: undefined; recalled?: undefined };

export interface BarrageItem {
  /** Absent: the system. */
  from?: { user: string; nick: string; avatar: string; role: Role };
  text: string;
  time: number;
  ext?: string;
  style?: string;
  priority?: Priority;
  /** How many equal ones this stands for; absent: 1. */
  count?: number;
}

/** What is sent: a body, and what else the sender decides. */
export type Draft = (Exclude<Body, MediaBody> | { type: "IMAGE" | "AUDIO" | "VIDEO" | "FILE"; media: MediaDraft }) & {
  priority?: Priority;
  mentions?: string[];
  mentionAll?: boolean;
  /** Only these users and the sender get it, and it is not kept. */
  to?: string[];
  ext?: string;
  /** The `messageId` of the kept message of the room that it answers. Only where `features` has `pin`. */
  replyTo?: string;
  /** false: not kept. */
  history?: boolean;
  /** false: not told to the app's server. */
  webhook?: boolean;
};

/** A message that waits for a manager: without a place in the room's order. */
export type HeldMessage = Common & Body & { room: string; seq?: undefined; after?: undefined; recalled?: undefined };

export interface Receipt {
  /** The message waits for a manager: nothing else is there then. It comes as a message with the same `clientId`, or else as
   * `denied`. */
  heldId?: string;
  messageId: string;
  time: number;
  /** Of a kept message. */
  seq?: number;
  /** Of an unkept message. */
  after?: number;
  /** If it was lowered. */
  priority?: Priority;
  /** With `to`: how many of them had a session in the room with a connection. */
  delivered?: number;
}

// Answers and options of a room's calls

/** fresh: the first entry. complete: nothing is missing since the last one. impossible: that cannot be promised, so drop
 * what is on the screen. */
export type Recovery = "fresh" | "complete" | "impossible";

export interface RoomEntry {
  room: RoomInfo;
  me: Member;
  epoch: string;
  seq: number;
  recovery: Recovery;
  /** With `withQueue`: the queue as of `seq`. */
  queue?: QueueElement[];
  /** If the queue did not fit: read on with `queue({ after })`. */
  queueNext?: string;
  /** With `withTallies`: `like` first. */
  tallies?: Tally[];
}

export interface EnterOptions {
  nick?: string;
  avatar?: string;
  ext?: string;
  /** Shown in the 301 of the first entry. */
  notifyExt?: string;
  withQueue?: boolean;
  /** Only where `features` has `tally`. */
  withTallies?: boolean;
  /** So many of the newest messages come in front of the live ones: 0 to 100. */
  history?: number;
}

export interface HistoryQuery {
  /** Unix milliseconds; 0: from the newest, or with ASC from the oldest. */
  startTime?: number;
  /** 1 to 100; 50 if absent. */
  limit?: number;
  order?: "DESC" | "ASC";
  types?: (MessageType | "NOTIFICATION")[];
  beforeSeq?: number;
  afterSeq?: number;
}

export interface SearchOptions {
  user?: string;
  types?: MessageType[];
  /** Unix milliseconds. */
  startTime?: number;
  endTime?: number;
  /** 1 to 100; 20 if absent. */
  limit?: number;
  after?: string;
}

export type MemberKind =
  | "FIXED" | "FIXED_ONLINE" | "TEMPORARY" | "TEMPORARY_REVERSED" | "MANAGERS"
  /** For managers. */
  | "MUTED" | "BLACKLISTED" | "BANNED";

export interface Page {
  after?: string;
  /** 1 to 100. */
  limit?: number;
}

/** A repeat with the same `clientId` within ten minutes changes nothing; the client makes one up if there is none. */
export interface ChangeOptions {
  clientId?: string;
  notifyExt?: string;
}

export interface NotifyOptions extends ChangeOptions {
  /** false: no notification. */
  notify?: boolean;
}

export interface QueueSetOptions extends NotifyOptions {
  transient?: boolean;
  /** 409 unless the element has this version; 0: it must be new. */
  ifVersion?: number;
  /** Managers, where `features` has "seats": whose it is to be, somebody who is here. */
  owner?: string;
  /** Managers, where `features` has "seats": what is overwritten stays its owner's. */
  keepOwner?: boolean;
  /** Managers, where `features` has "seats": whether only managers may change it; absent: as it is. */
  locked?: boolean;
}

// Events

export type Range = [from: number, to: number];

/** SLOW: `filled` follows. BUDGET: the room has more than people read. UNAVAILABLE: nothing brings them. Ranges of a cause
 * that this version does not know are missing as well. */
export type GapCause = "SLOW" | "BUDGET" | "UNAVAILABLE" | (string & {});

export type RoomState = "connecting" | "entering" | "entered" | "lost" | "failed" | "exited";
export type ClientState = "idle" | "connecting" | "connected" | "lost" | "failed" | "closed";

export type Delivery =
  | { clientId: string; status: "sending" }
  | { clientId: string; status: "sent"; receipt: Receipt }
  | { clientId: string; status: "failed"; error: ChatroomError }
  /** The answer was lost. The client asks again, unless there is an `error`. */
  | { clientId: string; status: "unknown"; error?: ChatroomError };

/** 1 room closed, 2 by a manager, 3 conflicting login, 5 blacklisted, 6 token revoked or no longer for this room, 7 banned from
 * all rooms. */
export type KickReason = 1 | 2 | 3 | 5 | 6 | 7 | (number & {});

export interface RoomEvents {
  state: { state: RoomState; error?: ChatroomError };
  entered: RoomEntry;
  message: Message;
  /** What a SLOW gap had left out, to be sorted in by `seq`. */
  filled: Message[];
  barrage: BarrageItem[];
  gap: { ranges: Range[]; cause: GapCause };
  skipped: { barrage: number; unkept: number };
  online: number;
  /** Totals that have changed, by the key of the tally; all are on disk. */
  tallies: Record<string, number>;
  /** For managers: a message waits for them. Its `messageId` is the `heldId`. Only where `features` has `held`. */
  held: HeldMessage;
  /** An own message that was held was not let through. `reason` is the manager's, else one of EXPIRED, WITHDRAWN, MUTED, KICKED,
   * BLACKLISTED, ROOM_CLOSED. */
  denied: { heldId: string; clientId?: string; reason?: string };
  kicked: { reason: KickReason; ext?: string };
  delivery: Delivery;
  unsupported: UnknownMessage;
}

export type Device = "mobile" | "desktop" | "web" | "server";
export interface ConnectedDevice {
  device: Device;
  connectedAt: number;
  /** The session of this client. */
  self: boolean;
}

export interface ClientEvents {
  state: { state: ClientState; error?: ChatroomError };
  /** The node has asked to leave it; `state` stays connected. */
  moving: { cause?: string };
  /** Another connection has taken the place of the one in use. If `state` changes before, it does not come. */
  moved: void;
  broadcast: AppMessage;
  direct: AppMessage;
  /** This user's sessions, the earliest first, at most 20: after each `connect`, and when they change. */
  devices: ConnectedDevice[];
  /** In so many seconds; told once for each token. The client asks `tokenProvider` by itself. */
  tokenExpiring: number;
  tokenExpired: void;
  forcedOffline: void;
  takenOver: void;
  /** A push or a message that this version does not know. */
  unsupported: object;
}

declare class Emitter<Events> {
  protected constructor();
  /** Adding the same function twice has no effect. */
  on<Name extends keyof Events>(event: Name, listener: (value: Events[Name]) => void): this;
  off<Name extends keyof Events>(event: Name, listener: (value: Events[Name]) => void): this;
}

// The room and the client

/** Whether the cluster stores the content that a message's `media.url` or `media.thumbnail` names: then `Room.mediaUrl` gives its
 * address a token. */
export function isStored(url: string | undefined): boolean;

/** A room. `client.room(id)` gives it. */
export class Room extends Emitter<RoomEvents> {
  private constructor();
  readonly id: string;
  readonly state: RoomState;
  readonly isWanted: boolean;

  /** Enters, and stays over lost connections until `exit`, a kick or a failure. */
  enter(options?: EnterOptions): Promise<RoomEntry>;
  exit(): Promise<void>;

  /** Resolves when the message is on disk at a majority of the room's replicas. */
  send(message: string | Draft, options?: { clientId?: string }): Promise<Receipt>;
  barrage(text: string, options?: { priority?: Priority; ext?: string; style?: string }): Promise<{ accepted: boolean }>;
  /** Opens a poll; for managers, at most 5 at a time. Only where `features` has `poll`. */
  openPoll(poll: string, draft: { title: string; options: string[]; seconds: number; mayChange?: boolean }): Promise<Poll>;
  closePoll(poll: string): Promise<Poll>;
  /** `option`: its place among the options. Once, or again where the poll says `mayChange`. */
  vote(poll: string, option: number): Promise<Poll>;
  /** Counts as so many taps, 1 to 100, on a tally ("like"). Resolves with the total when it is on disk. With a `clientId` it is
   * repeated and counted once; without one it is not repeated, and costs the server much less. Only where `features` has
   * `tally`. */
  tally(key?: string, delta?: number, options?: { clientId?: string }): Promise<number>;
  /** The same without an answer: sent now or not at all. */
  tap(key?: string, delta?: number): void;
  /** With a `heldId` it withdraws a message that waits for a manager. */
  recall(messageId: string): Promise<object>;
  /** The messages that wait, the oldest first; for managers. Only where `features` has `held`. */
  held(options?: Page): Promise<{ messages: HeldMessage[]; next?: string }>;
  /** Messages that have a text, the newest first; for managers, two a second. A page with few messages, or none, may have a `next`.
   * Only where `features` has `search`. */
  search(text: string, options?: SearchOptions): Promise<{ messages: Message[]; next?: string }>;
  /** Lets a held message through. Resolves with the message that it is then; 409 when somebody else was faster. */
  allowHeld(heldId: string): Promise<Message | undefined>;
  denyHeld(heldId: string, reason?: string): Promise<void>;
  /** Pins a kept message, or with false takes its pin away; for managers, at most 10. Resolves with all that are pinned
   * then, the latest last. Only where `features` has `pin`. */
  pin(messageId: string, enable?: boolean): Promise<PinnedMessage[]>;

  /** Changes an own kept message, for 120 s after it was sent. Resolves with the message as it is then; everybody is told 360.
   * Only where `features` has `amend`. */
  amend(messageId: string, set: MessageChanges): Promise<Message>;

  /** Tells the room's moderators of a kept message: once for each message (409 then), one in 10 s. `reason` has at most 256 bytes.
   * Only where `features` has `report`. */
  report(messageId: string, options?: { reason?: string }): Promise<object>;

  /** One kept message, as it is now. Only where `features` has `amend`. */
  message(messageId: string): Promise<Message>;
  /** Sends content that messages of this room can name. Resolves with the mediaId. Rejects with `connectionLost` when it broke off
   * three times, and with `timedOut` after 10 minutes and a second for each 4 KB. Only where `features` has `media`. */
  upload(content: Blob | ArrayBuffer | Uint8Array, options?: UploadOptions): Promise<string>;
  /** Sends content, and then a message that shows it. */
  sendMedia(
    content: Blob | ArrayBuffer | Uint8Array,
    options?: Omit<UploadOptions, "kind"> & {
      type?: "IMAGE" | "AUDIO" | "VIDEO" | "FILE";
      media?: { width?: number; height?: number; durationSeconds?: number; thumbnail?: string | { id: string } };
      message?: object;
      /** Of the message. */
      clientId?: string;
    },
  ): Promise<Receipt>;
  /** The address at which this client can read content now: of `media.url` or `media.thumbnail`. */
  mediaUrl(url: string): Promise<string>;

  combined(messageId: string): Promise<Message[]>;
  /** Messages of a later version are among them, as they came. */
  history(query?: HistoryQuery): Promise<{ messages: Message[]; more: boolean }>;
  info(): Promise<{ room: RoomInfo; seq: number }>;
  members(kind: MemberKind, options?: Page): Promise<{ members: Member[]; next?: string }>;
  /** Those of at most 20 users that are known. */
  membersById(users: string[]): Promise<Member[]>;

  update(set: RoomChanges, options?: NotifyOptions): Promise<RoomInfo>;
  updateMe(set: MemberChanges, options?: NotifyOptions & { save?: boolean }): Promise<Member>;
  setManager(user: string, enable: boolean, options?: ChangeOptions): Promise<Member>;
  setMember(user: string, enable: boolean, options?: ChangeOptions): Promise<Member>;
  setMute(user: string, enable: boolean, options?: ChangeOptions): Promise<Member>;
  /** With `recall` the user's messages in this room go, too. */
  setBlacklist(user: string, enable: boolean, options?: ChangeOptions & { recall?: boolean }): Promise<Member>;
  /** 0 seconds lift it; at most 30 days. */
  tempMute(user: string, seconds: number, options?: NotifyOptions): Promise<Member>;
  /** `banSeconds` keeps the user out for that time; 0 lifts a ban. */
  kick(user: string, options?: ChangeOptions & { banSeconds?: number }): Promise<object>;
  muteAll(enable: boolean, options?: ChangeOptions): Promise<object>;

  queue(options?: Page): Promise<{ elements: QueueElement[]; seq: number; next?: string }>;
  queueSet(key: string, value: string, options?: QueueSetOptions): Promise<QueueElement>;
  /** Overwrites existing keys only; resolves with those that were not there. */
  queueSetMany(values: Record<string, string>, options?: NotifyOptions): Promise<string[]>;
  /** Takes the element, or without a key the head. */
  queueTake(key?: string, options?: NotifyOptions): Promise<QueueElement>;
  queueClear(options?: NotifyOptions): Promise<object>;
}

/** What the client uses of a WebSocket. The client sets the handlers at once, before anything can have happened. */
export interface Transport {
  /** As WebSocket's. Where it is missing, the connection counts as open from `onopen` to `onclose`. */
  readonly readyState?: number;
  send(text: string): void;
  close(code?: number): void;
  onopen: ((event?: any) => void) | null;
  /** `data` is a text frame. */
  onmessage: ((event: any) => void) | null;
  /** The event has `code` and `reason`; 1006 where there was no close frame. */
  onclose: ((event: any) => void) | null;
  onerror: ((event?: any) => void) | null;
}

export interface ClientOptions {
  /** URLs of gateways: `wss://chat.example.com`. In a browser the page's own host, if there are none. */
  gateways?: string[];
  /** Asked at each connect, 10 s. */
  addressProvider?: () => string[] | undefined | Promise<string[] | undefined>;
  /** Asked at each login and before a token ends, 10 s. A token that was refused or has ended is not used again. */
  tokenProvider?: () => string | undefined | Promise<string | undefined>;
  /** Without a token: to listen only. */
  anonymous?: boolean;
  /** "web" if absent. */
  device?: Device;
  /** How often the first connection and the first entry are tried again: 3; 0 never, -1 without end. */
  retryCount?: number;
  /** The same for a lost connection: -1. */
  reconnectRetryCount?: number;
  /** 500. */
  reconnectMinMs?: number;
  /** 30,000. */
  reconnectMaxMs?: number;
  /** SLOW gaps are read after a random time up to this: 5,000. */
  gapWaitMs?: number;
  log?: (level: "info" | "warning" | "error", text: string) => void;
  /** Makes a connection; `new WebSocket(url, protocols)` if absent. */
  transport?: (url: string, protocols: string[]) => Transport;
  /** For clientIds, where there is no `crypto`. */
  randomBytes?: (count: number) => Uint8Array;
}

/** A client: one session, any number of rooms. */
export class ChatroomClient extends Emitter<ClientEvents> {
  constructor(options?: ClientOptions);
  readonly options: Readonly<ClientOptions>;
  readonly state: ClientState;
  /** null before the first connection. */
  readonly user: string | null;
  /** The names of what the cluster serves beyond level 1 (PROTOCOL.md, "Versions"). */
  readonly features: readonly string[];
  /** How far the server's clock was ahead when it last answered `connect` or `ping`. */
  readonly clockSkewMs: number;
  readonly isOnline: boolean;
  readonly isRunning: boolean;

  /** Connects, and stays connected until `close`. Resolves when the first connection is up. */
  connect(): Promise<void>;
  /** Leaves all rooms and closes. */
  close(): void;
  /** The same object for the same ID while the app wants to be in it. */
  room(id: string): Room;
  /** Resolves with the server's time. */
  ping(): Promise<number>;
  /** Resolves with the time at which the new token ends. */
  refresh(token: string): Promise<number>;
  /** The server's time now, as far as `clockSkewMs` tells it. */
  serverTime(): number;
}
