//! Non-ASCII text: Chinese, Russian, Latin with accents, and emoji.

use crate::envelope;
use crate::random::Random;

pub(crate) fn line(random: &mut Random) -> String {
    let len = random.around(4_800);
    let mut text = String::new();
    while text.len() < len {
        let language = random.pick(&LANGUAGES.each_ref());
        for _ in 0..random.between(2, 5) {
            language.sentence(&mut text, random);
        }
        text.push('\n');
    }
    envelope::text_result(&text, random)
}

struct Language {
    /// Separated by spaces.
    words: &'static str,
    space: &'static str,
    comma: &'static str,
    stop: &'static str,
}

impl Language {
    fn sentence(&self, text: &mut String, random: &mut Random) {
        let words: Vec<_> = self.words.split(' ').collect();
        for nth in 0..random.between(4, 14) {
            if nth > 0 {
                text.push_str(if random.chance(12) { self.comma } else { self.space });
            }
            text.push_str(random.pick(&words));
        }
        if random.chance(15) {
            text.push_str(self.space);
            text.push_str(random.pick(&["😀", "🎉", "👍🏽", "🚀", "❤️", "👩‍💻"]));
        }
        text.push_str(self.stop);
    }
}

const LANGUAGES: [Language; 3] = [
    Language {
        words: "我们 今天 天气 文件 已经 保存 服务器 正在 处理 请求 数据 没有 \
                问题 可以 继续 下一步 用户 需要 更新 说明 和 的 在 是",
        space: "",
        comma: "，",
        stop: "。",
    },
    Language {
        words: "сегодня мы проверили файл и сервер ответил на запрос данные готовы для \
                новой версии следующий шаг будет позже в работе всё хорошо пока без",
        space: " ",
        comma: ", ",
        stop: ". ",
    },
    Language {
        words: "déjà vérifié à l’été naïf größer für Übung später żółw źródło część \
                příliš kůň año señal información não coração år smörgås việt đường là",
        space: " ",
        comma: ", ",
        stop: ". ",
    },
];
