import ChatModel
import Gateway
import Logging
import Moderation
import Rooms
import SystemGroupHost
import Webhooks
import Wire

/// The app's callbacks as settings of the cluster: checked, kept by the system group, and told to the rooms and the
/// gateway of this node whenever they change.
actor AppCallbacks {
    private let system: SystemGroup
    private let client: CallbackClient
    private let logger: Logger
    /// nil: nothing serves yet.
    private var teller: SettingTeller?

    init(system: SystemGroup, client: CallbackClient, logger: Logger) {
        self.system = system
        self.client = client
        self.logger = logger
    }

    /// The setup that the rooms of this node begin with.
    nonisolated func setup() -> CallbackSetup {
        var setup = CallbackSetup(client: client)
        let moderation = moderation
        setup.hook = moderation.hook
        setup.hold = moderation.hold
        setup.words = filter(moderation.words)
        setup.webhook = webhook
        return setup
    }

    /// From here on rooms and gateway are told of every change, whichever node it was made at.
    func start(_ rooms: RoomHost, _ gateway: Gateway) async {
        let system = system
        let teller = SettingTeller(version: { system.setting($0)?.version ?? 0 }) { [weak self] name in
            await self?.pass(name, to: rooms, gateway)
        }
        self.teller = teller
        let (changes, changed) = AsyncStream.makeStream(of: SettingName.self)
        await system.observe { change in
            if case .setting(let name, _) = change { changed.yield(name) }
        }
        // Changes from before it was observed.
        for name in [SettingName.moderation, .webhook] { await teller.notify(name) }
        Task { [weak teller] in
            for await name in changes { await teller?.notify(name) }
        }
    }

    private func pass(_ name: SettingName, to rooms: RoomHost, _ gateway: Gateway) async {
        switch name {
        case .moderation:
            let settings = moderation
            let words = filter(settings.words)
            await rooms.setModeration(words, hook: settings.hook, hold: settings.hold)
            await gateway.set(words: words)
        case .webhook: await rooms.setWebhook(webhook)
        default: break
        }
    }

    // MARK: - Reading

    /// With its secret; nil: none.
    nonisolated var webhook: WebhookSettings? {
        let settings = read(WebhookSettings.self, .webhook)
        return settings?.url.isEmpty == false ? settings : nil
    }

    /// With the hook's secret.
    nonisolated var moderation: ModerationSettings {
        read(StoredModeration.self, .moderation)?.settings ?? ModerationSettings()
    }

    private nonisolated func read<M: WireMessage>(_ type: M.Type, _ name: SettingName) -> M? {
        guard let setting = system.setting(name) else { return nil }
        do throws(ChatError) {
            return try WireProtobuf.decode(type, from: setting.value, limits: false)
        } catch {
            logger.error("a setting can't be understood", metadata: ["setting": "\(name)", "error": "\(error)"])
            return nil
        }
    }

    /// Takes a moment for many words.
    private nonisolated func filter(_ words: [Word]) -> WordFilter {
        do {
            return try WordFilter(words)
        } catch {
            logger.error("the list of words can't be used", metadata: ["error": "\(error)"])
            return WordFilter()
        }
    }

    // MARK: - Changing

    /// Returns when the rooms of this node act on it.
    /// - Throws: 414 or 413 with the field that is wrong.
    func setWebhook(_ given: WebhookSettings, key: String?) async throws(ChatError) {
        var settings = given
        // Nodes of before don't know them, and would not understand the setting.
        let later: [(WebhookEvent, Feature)] = [(.sanction, .sanctions), (.held, .held), (.report, .reports)]
        for (event, feature) in later where settings.events.contains(event) && !system.level.brings(feature) {
            throw ChatError.upgrading(feature)
        }
        if !settings.url.isEmpty {
            try check(settings.url, field: "url")
            settings.secret = try secret(settings.secret, webhook?.secret, field: "secret")
        } else {
            settings.secret = nil
        }
        let call = key.map { "PUT /v1/webhook\n\($0)" }
        try await system.put(WireProtobuf.encode(settings), for: .webhook, key: call)
        await teller?.notify(.webhook)
    }

    /// Returns when the rooms of this node act on it.
    /// - Throws: 414 or 413 with the field that is wrong.
    func setModeration(_ given: ModerationSettings, key: String?) async throws(ChatError) {
        var settings = given
        if settings.needsHeld, !system.level.brings(.held) { throw .upgrading(.held) }
        do throws(WordListError) {
            try WordFilter.check(settings.words)
        } catch {
            throw ChatError(
                error.code == .wordTooLong || error.code == .tooManyBytes ? .tooLarge : .badParameter,
                error.description, field: "words")
        }
        if let hook = settings.hook {
            try check(hook.url, field: "hook.url")
            settings.hook?.secret = try secret(hook.secret, moderation.hook?.secret, field: "hook.secret")
        }
        // The same key with another call is another call.
        let call = key.map { "PUT /v1/moderation\n\($0)" }
        try await system.put(WireProtobuf.encode(StoredModeration(settings)), for: .moderation, key: call)
        await teller?.notify(.moderation)
    }

    private func check(_ url: String, field: String) throws(ChatError) {
        guard let address = CallbackAddress(url) else {
            throw ChatError(.badParameter, "\(field) must be an http or https URL without a user", field: field)
        }
        guard client.allows(address) else {
            throw ChatError(.badParameter, "the host of \(field) is not in callbacks.allowedHosts", field: field)
        }
    }

    private func secret(_ given: String?, _ stored: String?, field: String) throws(ChatError) -> String {
        guard let secret = given ?? stored else {
            throw ChatError(.badParameter, "\(field) is missing, and none is set", field: field)
        }
        return secret
    }
}
