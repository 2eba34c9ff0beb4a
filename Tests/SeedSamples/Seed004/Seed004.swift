// swift-format-ignore-file

import Combine
import Foundation

final class ContentViewModel: ObservableObject {
    // TRUE = 画面共有中、 FALSE = 画面共有中ではない
    @Published var isChaptured: Bool = false

    private var cancellable: AnyCancellable?

    // 画面表示時の処理：呼び出したメソッドのコメント参照
    func onAppear() {
        updateIsCaptured()
        subscribeIsCaptured()
    }

    // 画面非表示時の処理：監視をキャンセルします
    func onDisappear() {
        cancellable?.cancel()
    }

    // 画面共有中の状態を更新します
    private func updateIsCaptured() {
        isChaptured = UIScreen.main.isCaptured
    }

    // 「UIScreen.capturedDidChangeNotification」は画面共有された時と、
    // 共有が停止された時に送信される通知なので、監視します。
    private func subscribeIsCaptured() {
        cancellable = NotificationCenter.default
            .publisher(for: UIScreen.capturedDidChangeNotification)
            .sink { [weak self] _ in
                self?.updateIsCaptured()
            }
    }
}
