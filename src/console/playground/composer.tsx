import type { FileUIPart } from "ai";
import {
  type ClipboardEvent,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from "react";
import { isTouch } from "../parts/arrival.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { toast } from "../parts/toasts.tsx";
import { readPictures } from "./pictures.ts";

interface ComposerProps {
  /** Another value is another conversation that was begun here: the field gets the focus. */
  readonly fresh: number;
  /** Why nothing can be sent now; null when it can. */
  readonly hindrance: string | null;
  /** Whether it is sent; what is not stays in the field. */
  onSend(text: string, files: FileUIPart[]): boolean | Promise<boolean>;
  /** Further buttons. */
  readonly children: ReactNode;
}

/** The field for a message, with pictures. Enter sends, Shift and Enter begins a new line. */
export function Composer({ fresh, hindrance, onSend, children }: ComposerProps) {
  const [text, setText] = useState("");
  const [pictures, setPictures] = useState<FileUIPart[]>([]);
  const [isSending, setIsSending] = useState(false);
  const chooser = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // Here one comes to type, however the page was opened; on a phone it would bring up the keyboard.
    if (fresh > 0 || !isTouch()) field.current?.focus();
  }, [fresh]);
  const isEmpty = text.trim() === "" && pictures.length === 0;
  function send(event?: FormEvent): void {
    event?.preventDefault();
    if (hindrance !== null || isEmpty || isSending) return;
    const sent = onSend(text, pictures);
    if (sent === true) clear();
    else if (sent !== false) {
      setIsSending(true);
      void sent.then((isSent) => isSent && clear()).finally(() => setIsSending(false));
    }
  }
  function clear(): void {
    setText("");
    setPictures([]);
  }
  async function add(files: Iterable<File>): Promise<void> {
    const { pictures: added, refused } = await readPictures(files, pictures.length);
    setPictures((before) => [...before, ...added]);
    if (refused !== null) toast(refused, "bad");
  }
  function onKeyDown(event: KeyboardEvent): void {
    // Out of the field, where keys are letters, to the keys of the page.
    if (event.key === "Escape") field.current?.blur();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    send();
    event.preventDefault();
  }
  function onPaste(event: ClipboardEvent): void {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    void add(event.clipboardData.files);
  }
  return (
    <form className="composer" onSubmit={send}>
      {pictures.length > 0 && <Previews pictures={pictures} onChange={setPictures} />}
      <textarea
        ref={field}
        aria-label="Message"
        placeholder={hindrance ?? "Message"}
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="composer-buttons">
        <input
          ref={chooser}
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
          multiple
          hidden
          onChange={(event) => {
            void add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <IconButton label="Add pictures" icon="picture" onClick={() => chooser.current?.click()} />
        <span className="hint keys-hint">Enter sends, Shift+Enter breaks the line</span>
        <div className="actions">
          {children}
          <Button type="submit" tone="primary" icon="send" disabled={hindrance !== null || isEmpty || isSending}>
            Send
          </Button>
        </div>
      </div>
    </form>
  );
}

function Previews({ pictures, onChange }: { pictures: FileUIPart[]; onChange(next: FileUIPart[]): void }) {
  return (
    <ul className="previews">
      {pictures.map((picture, at) => (
        <li key={picture.url}>
          <img src={picture.url} alt={picture.filename ?? "Picture"} />
          <IconButton
            label={`Remove ${picture.filename ?? "picture"}`}
            icon="close"
            onClick={() => onChange(pictures.filter((_, other) => other !== at))}
          />
        </li>
      ))}
    </ul>
  );
}
