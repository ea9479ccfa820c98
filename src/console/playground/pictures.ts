import type { FileUIPart } from "ai";

/** This many pictures a message has, as the API counts them. */
const picturesMax = 20;
/** A request's body has its own limit; a larger picture would be refused after it was sent. */
const pictureBytesMax = 8 * 1024 * 1024;

/** Files as parts of a message, and a word on those that are left out. */
export async function readPictures(
  files: Iterable<File>,
  present: number,
): Promise<{ pictures: FileUIPart[]; refused: string | null }> {
  const all = [...files];
  const fitting = all.filter(({ type, size }) => type.startsWith("image/") && size <= pictureBytesMax);
  const taken = fitting.slice(0, picturesMax - present);
  const pictures = await Promise.all(
    taken.map(async (file) => ({
      type: "file" as const,
      mediaType: file.type,
      filename: file.name,
      url: await dataUrlOf(file),
    })),
  );
  if (taken.length < fitting.length) return { pictures, refused: `A message has at most ${picturesMax} pictures.` };
  return { pictures, refused: fitting.length < all.length ? "Only pictures of at most 8 MiB can be sent." : null };
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
