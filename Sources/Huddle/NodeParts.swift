import MeshCrypto
import MeshEngine
import MeshFaults
import MeshNet
import MeshStore
import MeshWire

/// What a node is made of, each piece opened in the order in which a failure is cheapest.
struct NodeParts: ~Copyable {
    let id: NodeID
    let configuration: NodeConfiguration
    let loop: EventLoop
    let engine: Engine
    let socket: FaultySocket
    let discovery: DiscoverySockets?
    let store: RoomStore?
    let lock: InstanceLock?
    let secrets: any SecretSource

    init(_ configuration: NodeConfiguration) throws(HuddleError) {
        let identity = try Self.identity(configuration.places.keyFile)
        let lock = try Self.lock(configuration.places.keyFile)
        let port = try Self.port(configuration)
        let loop: EventLoop
        do {
            loop = try EventLoop()
        } catch {
            throw HuddleError(.system, "the node's event loop cannot be made: \(error)")
        }
        var secrets = SystemSecrets()
        var engineConfiguration = EngineConfiguration(
            incarnation: secrets.word(),
            seed: secrets.word(),
            hardwareAES: Sodium.hasHardwareAES,
            dataPort: port.port
        )
        engineConfiguration.profile = configuration.profile.inner
        if let path = configuration.personKeyFile {
            engineConfiguration.person = try Self.identity(path)
        }
        configuration.adapt(&engineConfiguration)
        let engine = Engine(
            configuration: engineConfiguration,
            identity: identity,
            secrets: secrets,
            now: loop.now
        )
        id = identity.nodeID
        self.configuration = configuration
        self.loop = loop
        self.engine = engine
        socket = FaultySocket(
            .machine(port),
            seed: configuration.faultSeed,
            conditions: configuration.faults ?? LinkConditions()
        )
        self.secrets = secrets
        discovery = Self.discovery(configuration)
        store = RoomStore(path: configuration.places.rooms)
        self.lock = lock
    }

    /// The parts of a node in a simulation: all that it has of a machine is given.
    init(_ configuration: NodeConfiguration, in place: SimulatedPlace) {
        var secrets = place.secrets
        let identity = Identity(from: &secrets)
        var engineConfiguration = EngineConfiguration(
            incarnation: secrets.word(),
            seed: secrets.word(),
            dataPort: place.port.address.port
        )
        engineConfiguration.unixOrigin = place.unixOrigin
        engineConfiguration.profile = configuration.profile.inner
        configuration.adapt(&engineConfiguration)
        engine = Engine(
            configuration: engineConfiguration,
            identity: identity,
            secrets: secrets.fork(),
            now: place.loop.now
        )
        id = identity.nodeID
        self.configuration = configuration
        loop = place.loop
        socket = FaultySocket(
            .simulated(place.port),
            seed: configuration.faultSeed,
            conditions: configuration.faults ?? LinkConditions()
        )
        discovery = nil
        store = nil
        lock = nil
        self.secrets = secrets.fork()
    }

    private static func identity(_ path: String) throws(HuddleError) -> Identity {
        var secrets = SystemSecrets()
        do {
            return try KeyFile.loadOrCreate(path, from: &secrets).identity
        } catch {
            throw HuddleError(.keyFile, error.description)
        }
    }

    private static func lock(_ path: String) throws(HuddleError) -> InstanceLock {
        do {
            return try InstanceLock(keyFile: path)
        } catch {
            switch error {
            case .held: throw HuddleError(.identityInUse, error.description)
            case .system: throw HuddleError(.system, error.description)
            }
        }
    }

    private static func port(_ configuration: NodeConfiguration) throws(HuddleError) -> DataPort {
        do {
            return try DataPort(
                port: configuration.port,
                scope: configuration.reach == .loopback ? .loopback : .everywhere
            )
        } catch {
            guard error.isAddressInUse else {
                throw HuddleError(
                    .system,
                    "UDP port \(configuration.port) cannot be opened: \(error)"
                )
            }
            throw HuddleError(
                .portInUse,
                "UDP port \(configuration.port) is in use by another process",
                hint: "choose another with --port, or leave --port out to take any free one"
            )
        }
    }

    /// Discovery is a help, never a need: without it members are found by address.
    private static func discovery(_ configuration: NodeConfiguration) -> DiscoverySockets? {
        guard configuration.isDiscovering else { return nil }
        var options = DiscoverySockets.Options(port: configuration.discoveryPort)
        if configuration.reach == .loopback {
            options.interfaceNames = ["lo"]
            options.families = [.ipv4]
        }
        return try? DiscoverySockets(options: options)
    }
}
