// swift-format-ignore-file

import Foundation
import GroupActivities

// 定义一个 GroupActivity
struct WatchTogether: GroupActivity {
    // 活动的元数据——显示在邀请卡片上
    var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.title = "一起看电影"
        metadata.subtitle = movie.title
        metadata.fallbackURL = movie.posterURL
        metadata.type = .watchTogether
        return metadata
    }

    let movie: Movie
}

// 发起 SharePlay 会话
class MoviePlayerViewModel: ObservableObject {
    @Published var isEligibleForGroupSession = false
    private var session: GroupSession<WatchTogether>?
    private var messenger: GroupSessionMessenger?

    func startSharing(movie: Movie) async {
        let activity = WatchTogether(movie: movie)

        do {
            // 发起活动，触发系统邀请流程
            _ = try await activity.activate()
        } catch {
            print("启动 SharePlay 失败: \(error)")
        }
    }

    // 监听会话创建
    func configureGroupSession() async {
        for await session in WatchTogether.sessions() {
            self.session = session
            self.messenger = GroupSessionMessenger(session: session)

            // 监听参与者的播放状态消息
            Task {
                for await (message, _) in self.messenger!.messages(of: PlaybackMessage.self) {
                    handlePlaybackMessage(message)
                }
            }

            // 监听参与者变化
            session.$activeParticipants.sink { participants in
                print("当前参与者: \(participants.count) 人")
            }

            session.join()
        }
    }

// 广播播放操作给所有参与者
func broadcastPlayback(_ action: PlaybackMessage) async {
    guard let messenger = messenger else { return }
    do {
        try await messenger.send(action)
    } catch {
        print("发送消息失败: \(error)")
    }
}

// 处理收到的播放同步消息
func handlePlaybackMessage(_ message: PlaybackMessage) {
    switch message {
    case .play:
        player.play()
    case .pause:
        player.pause()
    case .seek(let time):
        player.seek(to: CMTime(seconds: time, preferredTimescale: 600))
    case .changeMovie(let movieID):
        // 所有人切换到新电影
        loadMovie(id: movieID)
    }
}
}

// 同步播放状态的消息类型
enum PlaybackMessage: Codable {
    case play
    case pause
    case seek(to: Double)
    case changeMovie(movieID: String)
}
