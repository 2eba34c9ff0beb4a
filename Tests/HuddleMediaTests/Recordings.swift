/// What `pw-dump --monitor --no-colors` printed, version 0.3.65, without the objects and properties that
/// nothing here reads.
enum Recordings {
    /// A compositor's picture of the screen, a program that can read one, and a camera.
    static let idle = """
        [
          {
            "id": 28,
            "type": "PipeWire:Interface:Metadata",
            "version": 3,
            "permissions": [ "r", "w", "x", "m" ],
            "props": { "metadata.name": "settings", "object.serial": 29 },
            "metadata": [
              { "subject": 0, "key": "log.level", "type": "", "value": 2 }
            ]
          },
          {
            "id": 33,
            "type": "PipeWire:Interface:Node",
            "version": 3,
            "permissions": [ "r", "w", "x", "m" ],
            "info": {
              "max-input-ports": 65,
              "max-output-ports": 0,
              "change-mask": [ "input-ports", "output-ports", "state", "props", "params" ],
              "n-input-ports": 0,
              "n-output-ports": 1,
              "state": "suspended",
              "error": null,
              "props": {
                "audio.position": "[MONO]",
                "factory.id": 17,
                "media.class": "Video/Source",
                "node.driver": true,
                "node.name": "gnome-shell",
                "object.id": 33,
                "object.serial": 35
              }
            }
          },
          {
            "id": 34,
            "type": "PipeWire:Interface:Node",
            "version": 3,
            "permissions": [ "r", "w", "x", "m" ],
            "info": {
              "n-input-ports": 1,
              "n-output-ports": 0,
              "state": "idle",
              "error": null,
              "props": {
                "media.class": "Stream/Input/Video",
                "node.name": "obs \\"[{\\\\",
                "object.id": 34,
                "object.serial": 36
              }
            }
          },
          {
            "id": 40,
            "type": "PipeWire:Interface:Node",
            "version": 3,
            "permissions": [ "r", "w", "x", "m" ],
            "info": {
              "state": "suspended",
              "error": null,
              "props": {
                "media.class": "Video/Source",
                "media.role": "Camera",
                "node.name": "v4l2_input.pci-0000_00_14.0-usb-0_5_1.0",
                "object.id": 40
              }
            }
          }
        ]

        """

    /// The program reads the screen.
    static let screenLink = link(from: 33, "active")
    /// It has stopped reading for a while.
    static let pausedLink = link(from: 33, "paused")
    /// It reads the camera.
    static let cameraLink = link(from: 40, "active")

    private static func link(from node: Int, _ state: String) -> String {
        """
        [
          {
            "id": 39,
            "type": "PipeWire:Interface:Link",
            "version": 3,
            "permissions": [ "r", "w", "x", "m" ],
            "info": {
              "output-node-id": \(node),
              "output-port-id": 38,
              "input-node-id": 34,
              "input-port-id": 36,
              "change-mask": [ "state", "format", "props" ],
              "state": "\(state)",
              "error": null,
              "format": {
                "mediaType": "audio",
                "mediaSubtype": "dsp",
                "format": "F32P"
              },
              "props": {
                "factory.id": 19,
                "link.input.node": 34,
                "link.output.node": \(node),
                "object.id": 39,
                "object.linger": true,
                "object.serial": 57
              }
            }
          }
        ]

        """
    }

    /// The link, or whatever else had its number, is gone.
    static let removed = """
        [
          {
            "id": 39,
            "info": null
          }
        ]

        """
}
