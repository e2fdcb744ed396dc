//! Compilers' output in messages.

const LINES: usize = 60;
const COLUMNS: usize = 300;

/// Lines before the first error that say where it is.
const CONTEXT: usize = 6;

/// As much of a compiler's output as a message holds; the first errors are kept.
pub(super) fn excerpt(output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let is_error = |line: &&str| {
        ["error:", "error :", "undefined reference", "undefined symbol"].iter().any(|mark| line.contains(mark))
    };
    let error = lines.iter().position(is_error).unwrap_or(0);
    let start = if lines.len() <= LINES { 0 } else { error.saturating_sub(CONTEXT) };
    let end = lines.len().min(start + LINES);
    let left_out = |count: usize| (count > 0).then(|| format!("[{count} lines left out]"));
    let kept = lines[start..end].iter().map(|line| shortened(line));
    left_out(start).into_iter().chain(kept).chain(left_out(lines.len() - end)).collect::<Vec<_>>().join("\n")
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(COLUMNS) {
        Some((end, _)) => format!("{} ..", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_errors_are_kept() {
        let mut output: Vec<String> = (0..500).map(|i| format!("k.cc:{i}: warning: unused")).collect();
        output[300] = "k.cc:300: error: first".to_owned();
        output[301] = "x".repeat(5000);
        let text = excerpt(&output.join("\n"));
        assert!(text.contains("k.cc:300: error: first\nxxx") && text.lines().count() == LINES + 2, "{text}");
        assert!(text.starts_with("[294 lines left out]\n") && text.ends_with("[146 lines left out]"), "{text}");
        assert!(text.lines().all(|line| line.len() < COLUMNS + 10), "{text}");
        assert_eq!(excerpt("one\ntwo\n"), "one\ntwo");
        assert_eq!(excerpt(""), "");
    }
}
